"""Figure 7: risks of single groups, one of them an outlier, under two objectives."""

from collections.abc import Mapping
from typing import Any

from jaxbandits.algorithms.dro.smd import SMD
from jaxbandits.reproduction.engine.experiment import Panel
from jaxbandits.reproduction.engine.figures import GroupCurves
from jaxbandits.reproduction.engine.statements import difference, difference_of_metrics, higher, lower
from jaxbandits.reproduction.experiments.dro import setting
from jaxbandits.reproduction.experiments.dro.fig6 import GRID, Q_GRID, learners
from jaxbandits.reproduction.experiments.dro.setting import SEEDS
from jaxbandits.results.trials import Trials

_RIVALS = ("ATkRO(m)", "ATkRO(k)")
_FIGURE: dict[str, Any] = {"on": "synthetic", "place": "Figure 7", "trials": SEEDS}
_WITHIN = 0.015
_READ_OFF = {  # differences that the paper's figure shows: metric and rival to value
    ("first_risk", "ATkRO(m)"): -0.061,
    ("first_risk", "ATkRO(k)"): -0.056,
    ("other_risk", "ATkRO(m)"): 0.12,
    ("other_risk", "ATkRO(k)"): 0.12,
}
_SAYS = {
    "first_risk": "SMD(m) ends approximately {:g} lower on the outlier",
    "other_risk": "on the other 19 groups SMD(m) ends approximately {:g} higher",
}
_MARGIN = f"the margin of {_WITHIN:g} on either side, which is ours, and the steps"


def _algorithms(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    smd = SMD(horizon=horizon, **setting.groups(panel), **setting.scales(preset, 3.0, 30.0))
    return {"SMD(m)": smd, **learners(preset, panel, {"ATkRO(m)": horizon, "ATkRO(k)": horizon})}


def _objective(learner: Any, panel: Panel) -> str:
    del panel
    return "max_risk" if isinstance(learner, SMD) else "top_k_risk"


def _derived(trials: Trials, algorithm: Any, panel: Panel) -> Mapping[str, Any]:
    """Compute the risks of the outlier and of the others: of the learner, and of the exact optima of both problems."""
    found = dict(setting.outlier(trials, algorithm, panel))
    for name in ("optimum", "top_k_optimum"):
        risk = trials.get(f"{name}_risk")
        found |= {f"{name}_first_risk": risk[..., 0], f"{name}_other_risk": risk[..., 1:].mean(axis=-1)}
    return found


def _around(value: float) -> dict[str, Any]:
    return {"low": value - _WITHIN, "high": value + _WITHIN}


FIG7 = setting.STUDY.experiment(
    "fig7",
    "Figure 7",
    title="risks of single groups, heterogeneous groups",
    horizon=50_000,
    guessed=setting.GUESSED,
    algorithms=_algorithms,
    panels=lambda horizon: {"synthetic": Panel("synthetic, d = 1000, m = 20", setting.heterogeneous())},
    metric="top_k_risk",
    tabulated=("first_risk", "other_risk", "max_risk"),
    derive=_derived,
    width=1,  # a vector of 1000 fills the machine
    claims=(
        *lower("SMD(m)", _RIVALS, says="SMD(m) ends lower on the outlier", metric="first_risk", **_FIGURE),
        *higher("SMD(m)", _RIVALS, says="and higher on the others", metric="other_risk", **_FIGURE),
        *(
            claim
            for (metric, rival), value in _READ_OFF.items()
            for claim in difference(
                "SMD(m)",
                rival,
                says=_SAYS[metric].format(abs(value)),
                sentence=_SAYS[metric].format(abs(value)),  # one, of both rivals
                remark=_MARGIN,
                metric=metric,
                **_FIGURE,
                **_around(value),
            )
        ),
        *(
            claim
            for metric, value in (("first_risk", -0.061), ("other_risk", 0.12))
            for claim in difference_of_metrics(
                "SMD(m)",
                f"optimum_{metric}",
                f"top_k_optimum_{metric}",
                says=f"the exact optima of both objectives differ alike, by {value:+g} to within {_WITHIN:g}",
                **(_FIGURE | {"place": "ours, on Figure 7"}),
                **_around(value),
            )
        ),
    ),
    tuning=setting.tuning(_objective, w=GRID, q=lambda learner: Q_GRID),
    notes=(
        "The paper's figures are single runs: 0.015 on either side is ours. The last two claims involve no step size: "
        "they say what the problems themselves ask for.",
        "Tuned, every method is chosen by what it minimises: SMD(m) by the maximal risk, the others by the mean of the "
        "3 largest.",
        "With the theorem's steps the weights of SMD(m) hardly move at this horizon: eta_q is small beside D G.",
    ),
    figures=(GroupCurves(groups=(0, 1, 4, 9, 14, 19), panel="synthetic", logarithmic=True, name="iterations"),),
)
