"""`python -m mla_var3` is the console script `mla`."""

import sys

from mla_var3.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
