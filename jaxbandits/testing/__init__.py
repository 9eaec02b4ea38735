"""Checks that your own algorithm or environment can call."""

from jaxbandits.testing.contract import check_algorithm, check_environment

__all__ = ["check_algorithm", "check_environment"]
