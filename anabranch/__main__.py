"""`python -m anabranch` is the command `anabranch`."""

import sys

from anabranch.cli import main

if __name__ == "__main__":
    sys.exit(main())
