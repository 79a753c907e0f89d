"""``python -m fixedfleet``: the command line."""

import sys

from fixedfleet.cli import main

if __name__ == "__main__":
    sys.exit(main())
