"""Checks of the contract for your own algorithm or environment."""

from jaxbandits.testing.contract import check_algorithm, check_environment

__all__ = ["check_algorithm", "check_environment"]
