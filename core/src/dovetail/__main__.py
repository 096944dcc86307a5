"""`python -m dovetail`: the `dovetail` command, wherever scripts are installed."""

import sys

from dovetail.cli import main

if __name__ == "__main__":
    sys.exit(main())
