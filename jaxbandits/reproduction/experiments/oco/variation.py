"""Regret on the unit ball against the variation of the mean loss."""

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
    title="regret against the amplitude m of a mean that flips every round (Sigma^2 = 4 m^2 per round)",
    horizon=2**15,
    algorithms=_variation_learners,
    panels=_variation_panels,
    tabulated=("share_of_bound",),
    derive=share_of_bound,
    record_points=("log", 20),
    claims=(
        *observations("within-bound", mean("OONS", "OONS, practical", of="share_of_bound") < 1.0,
                      on=_AMPLITUDE_PANELS.keys(),
                      says="the regret of {label} ends below D (sqrt(sigma^2) + sqrt(Sigma^2)), with 1 for the hidden "
                      "constant",
                      place="Theorem 3.2"),
        *observations("grows-as-variation", growth_over(_AMPLITUDE_PANELS, "m", *_OPTIMISTIC) < 1.0,
                      says="regret grows at most in proportion to sqrt(Sigma^2)"),
    ),
    notes=(
        "Losses are linear on the unit ball of R^2. The noise is small (s = 0.05), and learners receive G = 1 in all "
        "panels.",
        "For every m the theorem bounds regret by a quantity that grows at most in proportion to m, but it does not "
        "bound the slope of the regret itself. As long as the matrix A_t of OONS is about 16 G^2 I, the wrong hints "
        "cost OONS about m^2/16 per round, which gives a slope of 2.",
        "OGD, which has no hints, has little regret here: flips cancel in its steps, whereas the hints of the other "
        "learners are always wrong.",
    ),
    interpretations={"radius-for-D": RADIUS_FOR_D},
    figures=(Against("m"),),
)
