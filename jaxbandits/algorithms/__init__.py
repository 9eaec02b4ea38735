"""Algorithms, one per file, listed in `jaxbandits.catalogue`; importing one algorithm imports no other algorithm."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.catalogue import ALGORITHMS as ALGORITHMS
    from jaxbandits.catalogue import register_algorithm as register_algorithm

lazy.attach(__name__)
