"""Figure 3 of Zhang et al.: maximal risk against samples, on balanced groups."""

from collections.abc import Iterable

from jaxbandits.base.pytree import Fields
from jaxbandits.reproduction.engine import Claim, Learners, Panel, PanelCurves
from jaxbandits.reproduction.experiments.dro.fig2 import GRID, learners, panels
from jaxbandits.reproduction.experiments.dro.setting import GUESSED, SEEDS, STAND_IN, STUDY, adult_panels, tuning
from jaxbandits.reproduction.sentences import claims, mean

_CLOSE = 0.01  # "very close"


def _rounds(horizon: int, panel: Panel) -> dict[str, int]:
    """Return numbers of rounds, by label, with which learners draw equally many samples; SMD(m) draws m per round."""
    return {"SMD(m)": max(1, horizon // panel.environment.n_groups), "Online(1)": horizon, "SMD(1)": horizon}


def _algorithms(preset: str, horizon: int, panel: Panel) -> Learners:
    return learners(preset, panel, _rounds(horizon, panel))


def _claims() -> Iterable[Claim]:
    close = (mean("SMD(m)", of="max_risk") - mean("Online(1)")).between(-_CLOSE, _CLOSE)
    more = mean("SMD(1)", of="max_risk") > mean("Online(1)", "SMD(m)")
    for letter, panel in (("a", "synthetic"), ("b", "adult")):
        at: Fields = {"on": panel, "place": f"Figure 3({letter})", "least": SEEDS}
        yield from claims("very-close", close, says="per sample SMD(m) and Online(1) are very close", **at)
        yield from claims("more-samples", more, says="SMD(1) needs more samples than {rival}", **at)


FIG3 = STUDY.experiment(
    "fig3",
    "Figure 3",
    title="maximal risk against samples, balanced groups",
    shows="Figure 3 shows the maximum risk against the number of samples that SMD(1), SMD(m) and Online(1) consume, "
    "on synthetic data (a) and on Adult (b). Data and models are those of Figure 2.",
    stand_ins={"adult": "Adult"},
    horizon=100_000,
    guessed=GUESSED,
    algorithms=_algorithms,
    **adult_panels(panels),
    horizons=lambda horizon, panel, labels: {label: _rounds(horizon, panel)[label] for label in labels},
    metric="max_risk",
    tabulated=("samples",),
    claims=tuple(_claims()),
    tuning=tuning("max_risk", w=GRID, q=lambda learner: (1.0, 10.0)),
    notes=(
        STAND_IN,
        "T is the number of samples. Every learner plays until it has used T samples (SMD(m) for T / m rounds), with "
        "the step sizes for that number of rounds.",
        f"'Very close' is read as a difference in maximal risk of at most {_CLOSE}, which is our choice; 'needs more "
        "samples' is read as a larger maximal risk after T samples.",
    ),
    figures=(PanelCurves(x="samples", logarithmic=True),),
)
