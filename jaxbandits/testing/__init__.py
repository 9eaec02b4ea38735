"""Checks that your own algorithm or environment fulfils the contract of the protocol."""

from jaxbandits.testing.contract import check_algorithm, check_environment

__all__ = ["check_algorithm", "check_environment"]
