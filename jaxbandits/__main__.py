"""`python -m jaxbandits` is the command line."""

import sys

from jaxbandits.cli import process

if __name__ == "__main__":  # worker processes of MPI import this module under another name
    sys.exit(process())
