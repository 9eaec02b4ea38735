"""OONS against the dimension, and against the rank of what its hints get wrong."""

import math
from collections.abc import Mapping
from typing import Any

from jaxbandits.environments.oco.linear_losses import LinearLosses
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment, Panel
from jaxbandits.experiments.engine.figures import Against
from jaxbandits.experiments.engine.statistic import growth_across, worst_ratio
from jaxbandits.experiments.engine.thresholds import COMPARABLE, FLAT
from jaxbandits.experiments.oco.setting import OURS, PAPER, THEORY, on_the_ball

_SIZES = (1, 2, 4, 8, 16)
_MOST = _SIZES[-1]
_DIMENSIONS = {f"d-{d}": float(d) for d in _SIZES}
_RANKS = (1, 4)  # in R^16


def _panels(horizon: int) -> Mapping[str, Panel]:
    del horizon

    def losses(dim: int, rank: int | None) -> LinearLosses:
        return LinearLosses(dim=dim, mean=0.1, noise_scale=0.9, noise_rank=rank)

    full = {f"d-{d}": Panel(f"d = {d}, noise on all axes", losses(d, None), x=float(d)) for d in _SIZES}
    low = {f"r-{r}": Panel(f"d = {_MOST}, noise of rank {r}", losses(_MOST, r), x=math.nan) for r in _RANKS}
    return full | low


def _learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    del preset, horizon
    learners = on_the_ball(panel.environment.dim)
    return {label: learners[label] for label in ("OONS", "OONS, practical", "optimistic OMD", "OGD")}


DIMENSION = Experiment(
    name="oco/dimension",
    title="regret against the dimension d, and against the rank r of the hints' errors",
    source=f"ours, on {PAPER}, Theorem 3.1",
    horizon=2**14,
    seeds=64,
    presets=THEORY,
    algorithms=_learners,
    panels=_panels,
    metric="regret",
    record_points=("log", 20),
    claims=(
        *(
            Claim(
                f"{name}: regret grows at most in proportion to the rank, r = d from 1 to {_MOST}: log-log slope at "
                "most 1", "ours, on Theorem 3.1",
                growth_across(_DIMENSIONS, name), high=1.0,
            )
            for name in ("OONS", "OONS, practical")
        ),
        *(
            Claim(
                f"{name}: the rank r <= d counts, not d: on noise of rank {r} regret in R^{_MOST} is comparable to "
                f"that in R^{r} (ratio within {COMPARABLE} times)", "ours, on Theorem 3.1",
                worst_ratio((f"r-{r}",), (f"d-{r}",), name), low=1.0 / COMPARABLE, high=COMPARABLE,
            )
            for name in ("OONS", "OONS, practical")
            for r in _RANKS
        ),
        Claim(
            f"bounds of optimistic OMD have no factor r or d, and its regret does not grow with d: log-log slope below "
            f"{FLAT}", "ours, on Table 1",
            growth_across(_DIMENSIONS, "optimistic OMD"), high=FLAT,
        ),
        Claim(
            f"the price of the rank shows: OONS's regret grows with d = r, log-log slope above {FLAT}", "ours",
            growth_across(_DIMENSIONS, "OONS"), low=FLAT,
        ),
        Claim(
            f"and with small constants: OONS, practical, log-log slope above {FLAT}", "ours",
            growth_across(_DIMENSIONS, "OONS, practical"), low=FLAT,
        ),
    ),
    notes=(
        OURS, "Linear losses on the unit ball, m = 0.1, s = 0.9: the noise has the same length in every d, and sigma^2 "
        "does not change. With noise on the first r axes of R^16 the errors e_t of the hints have rank r.",
        "Nothing moves a learner off the span of its gradients: on noise of rank r it plays in R^16 what it plays in "
        "R^r, draw by draw, and the ratio is 1.",
        "Theorem 3.1 has r before a logarithm; bounds of optimistic OMD and FTRL have no r.",
    ),
    figures=(Against("d"),),
)  # fmt: skip
