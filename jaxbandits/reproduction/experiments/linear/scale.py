"""Theorem 1 of Wang et al. (2025): dependence of regret on the scale of the noise and on the sum of nu_t^2."""

import math
from collections.abc import Mapping
from typing import Any

from jaxbandits.base.pytree import Fields, FieldValue
from jaxbandits.linear import HvtUCB, noise
from jaxbandits.reproduction.engine import Against, Learners, Panel
from jaxbandits.reproduction.experiments.linear.setting import DIM, THEOREMS, environment
from jaxbandits.reproduction.sentences import COMPARABLE, growth_over, observations, panel_ratio

_DF, _EPS, _DECADES = 2.1, 0.99, 1.5
_SCALES = {f"nu{nu:g}": nu for nu in (0.1, 0.3, 1.0, 3.0, 10.0)}
_LABELS = ("Hvt-UCB", "Hvt-UCB, theory")
_ON_BOUND: Fields = {"place": "Theorem 1 (an upper bound)", "least": 1000}


def root_mean_square(decades: float) -> float:
    """Return the root mean square of a factor whose log10 is uniform on (0, decades)."""
    return math.sqrt((10.0 ** (2.0 * decades) - 1.0) / (2.0 * math.log(10.0) * decades))


def _panels(horizon: int) -> Mapping[str, Panel]:
    del horizon
    unit = float(noise.StudentT(df=_DF).scale(_EPS))

    def of_scale(nu: float, **fields: FieldValue) -> Any:
        return environment(noise=noise.StudentT(df=_DF, spread=nu / unit), eps=_EPS, **fields)

    constant = {name: Panel(f"nu = {nu:g}", of_scale(nu), x=nu) for name, nu in _SCALES.items()}
    equal = 0.3 * root_mean_square(_DECADES)
    return {
        **constant,
        "varying": Panel(f"nu_t from 0.3 to {0.3 * 10.0**_DECADES:.1f}", of_scale(0.3, noise_decades=_DECADES)),
        "equal": Panel(f"nu = {equal:.2f}, the same sum of squares", of_scale(equal)),
    }


def _both(preset: str, horizon: int, panel: Panel) -> Learners:
    """Make the two learners, which receive nu_t in each round."""
    del preset, panel
    common = {"dim": DIM, "horizon": horizon, "eps": _EPS}
    return dict(zip(_LABELS, (HvtUCB.practical(**common), HvtUCB.theory(**common)), strict=True))


SCALE = THEOREMS.experiment(
    "scale",
    "Theorem 1",
    title="regret against the scale of the noise",
    horizon=6_000,
    presets={"both": "two learners: Hvt-UCB with the practical multipliers, and 'Hvt-UCB, theory' with the theorem's "
                     "constants"},
    algorithms=_both,
    panels=_panels,
    claims=(
        *observations("root-of-sum", growth_over(_SCALES, "nu", *_LABELS) < 1.0,
                      says="regret grows no faster than the square root of the sum of nu_t^2", **_ON_BOUND),
        *observations(
            "sum-counts",
            *(
                panel_ratio(
                    label, {"nu_t that varies over 1.5 "
                            "decades": ("varying",)}, {"the constant nu with the same sum of squares": ("equal",)}
                )
                < COMPARABLE
                for label in _LABELS
            ),
            says="regret with nu_t that varies is at most 1.5 times that with a constant nu of the same sum of squares",
            **_ON_BOUND,
        ),
    ),
    notes=(
        "The noise has Student's t distribution (2.1) with moment scale nu at eps = 0.99, and learners receive nu_t in "
        "each round. Regret is at most 2 per round, so it cannot keep growing in proportion to nu.",
        "The practical multipliers were tuned with the noise of Figure 1; for much smaller nu they are not suitable.",
        "In the panel equal, nu is the root mean square of the nu_t of the panel varying, so that the sums of squares "
        "are equal in expectation.",
    ),
    figures=(Against("nu"),),
)
