"""Regret against the variation of the mean loss."""

from collections.abc import Mapping

from jaxbandits.oco import Alternating, LinearLosses
from jaxbandits.reproduction.engine import Against, Learners, Panel
from jaxbandits.reproduction.experiments.oco.setting import RADIUS_FOR_D, STUDY, on_the_ball, share_of_bound
from jaxbandits.reproduction.sentences import growth_over, mean, observations
from jaxbandits.theory.oco import visible_bound

_AMPLITUDE_PANELS = {f"m-{amplitude:g}": amplitude for amplitude in (0.05, 0.1, 0.2, 0.4, 0.8)}


def _variation_panels(horizon: int) -> Mapping[str, Panel]:
    panels = {}
    for name, amplitude in _AMPLITUDE_PANELS.items():
        environment = LinearLosses(dim=2, mean=amplitude, noise_scale=0.05, sequence=Alternating(period=1))
        panels[name] = Panel(f"m = {amplitude:g}", environment, x=amplitude, bound=visible_bound(environment, horizon))
    return panels


def _variation_learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, horizon
    return on_the_ball(panel.environment.dim)


_OPTIMISTIC = ("OONS", "OONS, practical", "optimistic OMD", "optimistic FTRL 2023")

VARIATION = STUDY.experiment(
    "variation",
    "Theorem 3.2",
    title="regret against the amplitude m of a mean that flips every round: Sigma^2 = 4 m^2 a round",
    horizon=2**15,
    algorithms=_variation_learners,
    panels=_variation_panels,
    tabulated=("share_of_bound",),
    derive=share_of_bound,
    record_points=("log", 20),
    claims=(
        *observations("within-bound", mean("OONS", "OONS, practical", of="share_of_bound") < 1.0,
                      on=_AMPLITUDE_PANELS.keys(),
                      says="{label} ends below D (sqrt(sigma^2) + sqrt(Sigma^2)), hidden constant 1",
                      place="Theorem 3.2"),
        *observations("grows-as-variation", growth_over(_AMPLITUDE_PANELS, "m", *_OPTIMISTIC) < 1.0,
                      says="regret grows at most in proportion to Sigma"),
    ),
    notes=(
        "Linear losses on the unit ball of R^2; the noise is small, s = 0.05, and learners are given G = 1 throughout.",
        "The theorem bounds regret at every m, by something that grows at most in proportion to m; it says nothing "
        "about the slope of the regret below that bound. While A_t is about 16 G^2 I the last gradient as a hint costs "
        "OONS about m^2/16 a round, a slope of 2, until its curvature has grown.",
        "OGD needs no hint here: flips cancel in its steps, and the hints of the others are always wrong.",
    ),
    interpretations={"radius-for-D": RADIUS_FOR_D},
    figures=(Against("m"),),
)
