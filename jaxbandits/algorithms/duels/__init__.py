"""Algorithms for dueling bandits, one per file; a class is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.algorithms.duels.double_ts import DoubleTS as DoubleTS
    from jaxbandits.algorithms.duels.rmed1 import RMED1 as RMED1
    from jaxbandits.algorithms.duels.rmed2fh import RMED2FH as RMED2FH
    from jaxbandits.algorithms.duels.rucb import RUCB as RUCB
    from jaxbandits.algorithms.duels.sparring import Sparring as Sparring

lazy.attach(__name__)
