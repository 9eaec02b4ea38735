"""`python -m jaxbandits` is the command line."""

import sys

from jaxbandits.cli import process

sys.exit(process())
