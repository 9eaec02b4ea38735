"""Algorithms for best-arm identification, one per file; a class is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.algorithms.explore.kl_lucb import KLLUCB as KLLUCB
    from jaxbandits.algorithms.explore.lucb1 import LUCB1 as LUCB1
    from jaxbandits.algorithms.explore.sequential_halving import SequentialHalving as SequentialHalving
    from jaxbandits.algorithms.explore.top_two_thompson import TopTwoThompson as TopTwoThompson
    from jaxbandits.algorithms.explore.track_and_stop import TrackAndStop as TrackAndStop

lazy.attach(__name__)
