"""Theorem 1 of Wang et al. (2025) without noise: regret against T for nu_t = 0."""

from collections.abc import Mapping

import numpy as np

from jaxbandits.linear import HvtUCB, noise
from jaxbandits.reproduction.engine import Against, Learners, Panel
from jaxbandits.reproduction.experiments.linear.setting import DIM, THEOREMS, environment
from jaxbandits.reproduction.sentences import growth_over, observations
from jaxbandits.theory.linear import theorem_1

_LONGEST = 32_000
_COVERING = "Hvt-UCB, beta x 1e-3"
_SHARES = {"T-over-32": 1 / 32, "T-over-8": 1 / 8, "T-over-2": 1 / 2, "T-over-1": 1.0}


def _panels(horizon: int) -> Mapping[str, Panel]:
    rounds = {name: max(4, round(share * horizon)) for name, share in _SHARES.items()}
    silent = environment(noise=noise.Gaussian(spread=0.0), eps=1.0)
    return {name: Panel(f"T = {t:,}", silent, x=float(t), rounds=t) for name, t in rounds.items()}


def _multipliers(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset
    common = {"dim": DIM, "horizon": panel.horizon(horizon), "eps": 1.0}
    return {
        "Hvt-UCB": HvtUCB.practical(**common),
        _COVERING: HvtUCB.theory(**common, beta_scale=1e-3),
        "Hvt-UCB, theory": HvtUCB.theory(**common),
    }


def rate_of_the_bound(horizons: np.ndarray) -> float:
    """Return the slope of log(bound) against log T, for the explicit bound of Theorem 1 with nu_t = 0 and eps = 1.

    The slope is fitted by least squares to the bounds at these horizons.
    """
    bounds = [theorem_1(HvtUCB.theory(dim=DIM, horizon=int(t)), np.asarray([t]), np.zeros(1)).item() for t in horizons]
    return float(np.polyfit(np.log(horizons), np.log(bounds), 1)[0])


_HORIZONS = {name: share * _LONGEST for name, share in _SHARES.items()}
_RATE = rate_of_the_bound(np.asarray([*_HORIZONS.values()]))

NOISELESS = THEOREMS.experiment(
    "noiseless",
    "Theorem 1",
    title="regret without noise, against T",
    horizon=_LONGEST,
    presets={"all": "three learners: Hvt-UCB with the practical multipliers, with only beta multiplied by 1e-3, and "
        "with the theorem's constants"},
    algorithms=_multipliers,
    panels=_panels,
    record_points=4,
    claims=(
        *observations(
            "polylogarithmic",
            growth_over(_HORIZONS, "T", "Hvt-UCB, theory") < _RATE,
            says="without noise and for eps = 1, regret is polylogarithmic in T: it grows no faster than the explicit "
            "bound",
            place="Theorem 1 with nu_t = 0 (an upper bound)",
            least=1000,
        ),
        *observations("with-multipliers", growth_over(_HORIZONS, "T", "Hvt-UCB", _COVERING) < _RATE,
                      says="with multipliers, regret without noise grows no faster than the explicit bound",
                      place="Theorem 1", least=1000),
    ),
    notes=(
        "The constants of the theorem depend on T, so every T is a separate run. The bound at nu_t = 0 is of order "
        "log(T)^3; its slope between these T is computed from its explicit form.",
        "With the factor 1e-3 the radius is between 3.4 and 5.3 from round 2 on, depending on T. It is larger than the "
        "initial distance of theta*, sqrt(lambda) S = 1.4; with 1e-4 it would be smaller. The practical multipliers "
        "were tuned with noise, and their radius may be too small here.",
        "The theorem bounds regret from above, and the bound is orders of magnitude larger than the regret. A steeper "
        "slope therefore does not contradict the theorem.",
    ),
    figures=(Against("T"),),
    float64=True,
)
