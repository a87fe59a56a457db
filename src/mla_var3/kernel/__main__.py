"""`python -m mla_var3.kernel KERNEL [VERSION] [--option=value …]` is `mla run`."""

import sys

from mla_var3.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
