"""`python -m hotloop`."""

import sys

from hotloop.cli import main

if __name__ == "__main__":
    sys.exit(main())
