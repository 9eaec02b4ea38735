"""Figure 2 of Zhang et al.: maximal risk against iterations, on balanced groups."""

from collections.abc import Mapping
from pathlib import Path

from jaxbandits.dro import SMD, Online, SagawaSMD, SyntheticGroups
from jaxbandits.reproduction.engine import Interpretation, Learners, Panel, PanelCurves
from jaxbandits.reproduction.experiments.dro.setting import (
    GUESSED,
    SEEDS,
    STAND_IN,
    STUDY,
    adult,
    adult_panels,
    groups,
    homogeneous,
    scales,
    tuning,
)
from jaxbandits.reproduction.sentences import claims, mean


def panels(path: Path | None) -> dict[str, Panel]:
    """Make two panels: one of new synthetic samples, and one of rows of Adult that are drawn with replacement.

    Args:
      path: as for `setting.adult`.
    """
    return {"synthetic": Panel("synthetic, d = 1000, m = 20", homogeneous()), "adult": Panel(*adult(path))}


def learners(preset: str, panel: Panel, horizons: Mapping[str, int]) -> Learners:
    """Make SMD(m), Online(1) and SMD(1), each with step sizes for the number of rounds that it plays.

    Args:
      preset: name of the preset.
      panel: panel in which they play.
      horizons: number of rounds by label.
    """
    common = groups(panel) | scales(preset, 3.0 if isinstance(panel.environment, SyntheticGroups) else 1.0)
    classes = {"SMD(m)": SMD, "Online(1)": Online, "SMD(1)": SagawaSMD}
    return {label: cls(horizon=horizons[label], **common) for label, cls in classes.items()}


def _algorithms(preset: str, horizon: int, panel: Panel) -> Learners:
    return learners(preset, panel, dict.fromkeys(("SMD(m)", "Online(1)", "SMD(1)"), horizon))


_SAYS = "per iteration {label} is ahead of {rival}"
_ORDER = (
    mean("SMD(m)", of="max_risk") < mean("Online(1)", "SMD(1)"),
    mean("Online(1)", of="max_risk") < mean("SMD(1)"),
)
GRID = (0.3, 1.0, 3.0, 10.0, 30.0)

FIG2 = STUDY.experiment(
    "fig2",
    "Figure 2",
    title="maximal risk against iterations, balanced groups",
    shows="Figure 2 shows the maximum risk against the number of iterations for SMD(1), SMD(m) and Online(1), on "
    "synthetic data (a) and on Adult (b). The paper states logistic loss and linear models, 20 synthetic groups in "
    "dimension 1000 with 10 % of the labels flipped and samples generated on the fly, and 6 groups of Adult by race "
    "and gender, sampled with replacement.",
    stand_ins={"adult": "Adult"},
    horizon=20_000,
    guessed=GUESSED,
    algorithms=_algorithms,
    **adult_panels(panels),
    metric="max_risk",
    claims=tuple(
        claim
        for letter, panel in (("a", "synthetic"), ("b", "adult"))
        for claim in claims("ahead", *_ORDER, says=_SAYS, on=panel, place=f"Figure 2({letter})", least=SEEDS)
    ),
    tuning=tuning("max_risk", w=GRID, q=lambda learner: (1.0, 10.0)),
    notes=(
        STAND_IN,
        "SMD(1) has the step sizes of Theorem 1 divided by m, which is our reconstruction. The order of SMD(1) and "
        "Online(1), which draw one sample per round, depends on these step sizes: with equal tuning their maximal "
        "risks differ by less than 0.01.",
        "Synthetic samples are drawn as they are needed, and the risks of synthetic groups are exact. On Adult the "
        "risk of a group is the mean loss over all its rows.",
    ),
    interpretations={
        "clipped": Interpretation(
            "Assumption 3 requires losses in [0, 1], which logistic losses exceed; in this reading the gain 1 - loss "
            "of q is cut off at 0",
            {"Online(1)": {"clip": True}},
        )
    },
    figures=(PanelCurves(logarithmic=True),),
)
