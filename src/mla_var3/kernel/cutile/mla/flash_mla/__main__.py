"""`python -m mla_var3.kernel.cutile.mla.flash_mla [version] [options]`."""

import sys

from mla_var3.cli.run import main_for

sys.exit(main_for(__package__))
