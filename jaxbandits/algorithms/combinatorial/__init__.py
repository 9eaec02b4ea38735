"""Algorithms for bandits that choose several items per round, one per file; a class is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.algorithms.combinatorial.cascade_kl_ucb import CascadeKLUCB as CascadeKLUCB
    from jaxbandits.algorithms.combinatorial.cascade_ts import CascadeTS as CascadeTS
    from jaxbandits.algorithms.combinatorial.cascade_ucb1 import CascadeUCB1 as CascadeUCB1
    from jaxbandits.algorithms.combinatorial.comb_ucb1 import CombUCB1 as CombUCB1
    from jaxbandits.algorithms.combinatorial.cts import CTS as CTS
    from jaxbandits.algorithms.combinatorial.full_bandit_ts import FullBanditTS as FullBanditTS
    from jaxbandits.algorithms.combinatorial.pbm_ucb import PBMUCB as PBMUCB

lazy.attach(__name__)
