"""`python -m mla_var3.kernel.torch.mla.demo_concurrent [version] [options]`."""

import sys

from mla_var3.cli.run import main_for

sys.exit(main_for(__package__))
