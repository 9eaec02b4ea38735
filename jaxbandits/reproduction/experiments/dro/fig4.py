"""Figure 4 of Zhang et al.: risks of single groups against iterations, on imbalanced synthetic groups."""

from collections.abc import Mapping
from typing import Any

from jaxbandits.base.pytree import Fields, FieldValue
from jaxbandits.dro import SMD, SMPA, SMDr
from jaxbandits.reproduction.engine import Claim, GroupCurves, Learner, Learners, Panel
from jaxbandits.reproduction.experiments.dro import setting
from jaxbandits.reproduction.experiments.dro.setting import N_GROUPS, SEEDS
from jaxbandits.reproduction.sentences import Quantity, Statistic, claims, mean, measure, observations

_RIVALS = ("SMD(m)", "SMD_r")
_CLOSE = 0.01  # "matches"
_ALONE = {"place": "Figure 4 alone (the text speaks of Figures 4 and 5 together)"}
_MARGIN = "the margin of 0.01 on either side is ours; if the two differ by more, it is SMPA_m that ends lower"
_STEPS = f"{_MARGIN}; with the theorems' own steps (preset theory) the difference is within the margin"


def learners(
    preset: str, horizon: int, panel: Panel, factors: Mapping[str, float], **smooth: float
) -> Mapping[str, Any]:
    """Make SMD(m) for the smallest budget, and SMD_r and SMPA_m for the budgets of all groups.

    Args:
      preset: name of the preset.
      horizon: largest budget n_1 of synthetic groups.
      panel: panel in which the learners play.
      factors: factor of the step of w by label, for the preset `demonstration`.
      **smooth: fields of SMPA_m, such as its smoothness.
    """
    common, budgets = setting.space(panel), setting.budgets_of(horizon, panel)

    def make(label: str, cls: Any, **fields: FieldValue) -> Learner:
        return cls(**common, **setting.scales(preset, factors[label]), **fields)

    return {
        "SMD(m)": make("SMD(m)", SMD, n_groups=len(budgets), horizon=min(budgets)),
        "SMD_r": make("SMD_r", SMDr, budgets=budgets),
        "SMPA_m": make("SMPA_m", SMPA, budgets=budgets, **smooth),
    }


def _rounds(horizon: int, panel: Panel, algorithms: Learners) -> Mapping[str, int]:
    """Return the number of rounds for which the budgets last, by label."""
    lasts = {
        label: learner.rounds if hasattr(learner, "rounds") else learner.horizon
        for label, learner in algorithms.items()
    }
    return {label: int(min(horizon, length)) for label, length in lasts.items()}


def claims_on_groups(
    figure: str, panel: str, n_groups: int, usually: Mapping[str, Any], depends: str = _MARGIN
) -> tuple[Claim, ...]:
    """Make the paper's claims about single groups. The first group has the most samples, and the last group the fewest.

    Args:
      figure: name of the figure, such as "Figure 4".
      panel: name of the panel.
      n_groups: number of groups in the panel.
      usually: fields of the claim "SMPA_m usually ends lowest".
      depends: conditions on which the claim that two risks are close depends.
    """
    at: Fields = {"on": panel, "least": SEEDS}
    counted = f"{{of}}: mean number of such groups, of {n_groups}, {{region}}"

    def groups(words: str, statistic: Statistic, *rivals: str) -> Quantity:
        return measure(words, statistic, ("SMPA_m", *rivals), template=counted)

    words = "SMPA_m below {} after the same number of iterations"
    ahead = [
        groups(words.format(b), setting.count_groups_ahead(panel, "SMPA_m", b), b) > n_groups - 0.5 for b in _RIVALS
    ]
    lowest = groups("SMPA_m lowest", setting.lowest(panel, "SMPA_m", _RIVALS), *_RIVALS) > n_groups / 2
    below = groups("SMPA_m below SMD(m)", setting.wins(panel, "SMPA_m", "SMD(m)"), "SMD(m)") > n_groups / 2
    first = mean("SMD_r", of="first_risk") < mean("SMPA_m", "SMD(m)")
    last = (mean("SMD(m)", of="last_risk") - mean("SMPA_m")).between(-_CLOSE, _CLOSE)
    most = {"says": "SMD_r ends lowest on the group with the most samples", "place": f"{figure}(a)"}
    fewest = {"says": "on the group with the fewest samples SMD(m) and SMPA_m are close", "place": f"{figure}(f)"}
    return (
        *claims("faster", *ahead, says="per iteration SMPA_m is faster than {rival} on all groups", place=figure, **at),
        *claims("usually-lowest", lowest, says="SMPA_m usually ends lowest", **at, **usually),
        *observations("below-smd", below, says="SMPA_m ends below SMD(m) on most groups", place=figure, **at),
        *claims("lowest-on-first", first, **most, **at),
        *claims("close-on-last", last, remark=depends, **fewest, **at),
    )


def figures(panel: str, groups: tuple[int, ...]) -> tuple[GroupCurves, ...]:
    """Make three figures of the risks of these groups: against iterations, all samples, and samples of the group.

    Args:
      panel: name of the panel.
      groups: indices of the groups, from 0.
    """
    axes = {"iterations": "iterations", "samples": "samples", "own-samples": "group_samples"}
    return tuple(GroupCurves(groups, panel, x=x, logarithmic=True, name=name) for name, x in axes.items())


FIELDS: Fields = {  # fields that Figures 4 and 5 share
    "horizons": _rounds,
    "metric": "mean_risk",
    "tabulated": ("first_risk", "last_risk"),
    "derive": setting.outlier,
    "tuning": setting.tuning("mean_risk", w=(1.0, 3.0, 10.0, 30.0, 60.0, 100.0)),
}

FIG4 = setting.STUDY.experiment(
    "fig4",
    "Figure 4",
    horizon_stated=True,
    title="risks of single groups, imbalanced synthetic groups",
    shows="Figure 4 shows the risk on groups 1, 4, 8, 12, 16 and 20 of the synthetic data, one panel each, against the "
    "number of iterations, for SMD_r, SMPA_m and SMD(m). The paper states 1000 (21 - i) samples of group i, and n_1, "
    "n_m / 2 and n_m iterations of the three methods.",
    horizon=20_000,
    seeds=2 * SEEDS,
    algorithms=lambda preset, horizon, panel: learners(
        preset, horizon, panel, {"SMD(m)": 10.0, "SMD_r": 3.0, "SMPA_m": 20.0}
    ),
    panels=lambda horizon: {"synthetic": Panel("synthetic, budgets from T down to T / 20", setting.homogeneous())},
    width=1,  # a vector of 1000 entries already uses the whole machine
    claims=claims_on_groups("Figure 4", "synthetic", N_GROUPS, usually=_ALONE, depends=_STEPS),
    notes=(
        "Here T = n_1, and every learner runs until its samples are used up: SMD_r for n_1 = 20,000 iterations, SMD(m) "
        "for n_m = 1,000 iterations, and SMPA_m for n_m / 2 = 500 iterations of two rounds each.",
        "The theorem's step sizes for SMPA_m have an unspecified constant, which is 1 here; with these step sizes "
        "SMPA_m hardly moves in n_m / 2 steps.",
    ),
    figures=figures("synthetic", (0, 3, 7, 11, 15, 19)),
    **FIELDS,
)
