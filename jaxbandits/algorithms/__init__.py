"""Algorithms, one a file; `registry` has the table of all. Importing one algorithm imports no other."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.algorithms.registry import ALGORITHMS as ALGORITHMS
    from jaxbandits.algorithms.registry import register_algorithm as register_algorithm

lazy.attach(__name__)
