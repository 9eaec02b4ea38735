"""Figure 8 of Zhang et al.: step sizes for a preset horizon, used beyond it, compared with anytime variants."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from jaxbandits import dro
from jaxbandits.analysis.trials import Trials
from jaxbandits.base.pytree import Fields
from jaxbandits.reproduction.engine import Claim, Learner, Learners, Panel, PanelCurves
from jaxbandits.reproduction.experiments.dro import setting
from jaxbandits.reproduction.sentences import Quantity, claims, mean

_LEVEL = 0.005  # a smaller decrease of the objective counts as levelling off
_BEYOND = 24  # length of the run over the horizon of the fixed steps
_RECORDS = 45  # number of record points, of which one is within 1 % of a 24th of the run
_LONGER = 25  # fixed step sizes of ATkRO are for 50,000 rounds, those of other learners for 2,000
_K = 3
_REMARK = (
    "depends on the step sizes, and on the meaning of 'eventually', which is read as 24 times the horizon of the fixed "
    "steps"
)
_PAIRS = (
    ("adult", "SMD(m)", "SMD(m)_a"),
    ("adult", "Online(1)", "Online(1)_a"),
    ("heterogeneous", "ATkRO(m)", "ATkRO(m)_a"),
    ("heterogeneous", "ATkRO(k)", "ATkRO(1)_a"),
)


def _panels(path: Path | None) -> dict[str, Panel]:
    title, environment = setting.adult(path)
    return {
        "adult": Panel(f"{title}, balanced", environment),
        "heterogeneous": Panel(f"heterogeneous, d = {setting.DIM}, k = {_K}", setting.heterogeneous()),
    }


def _rounds(horizon: int, panel: Panel) -> int:
    return horizon if isinstance(panel.environment, dro.GroupData) else _LONGER * horizon


def _algorithms(preset: str, horizon: int, panel: Panel) -> Learners:
    common, fixed = setting.groups(panel), {"horizon": max(1, _rounds(horizon, panel) // _BEYOND)}

    def at(w_scale: float, q_scale: float) -> Fields:
        return common | setting.scales(preset, w_scale, q_scale)

    if isinstance(panel.environment, dro.GroupData):
        return {
            "SMD(m)": dro.SMD(**fixed, **at(6.0, 20.0)),
            "SMD(m)_a": dro.AnytimeSMD(**at(0.6, 6.0)),
            "Online(1)": dro.Online(**fixed, **at(6.0, 2.0)),
            "Online(1)_a": dro.AnytimeOnline(**at(0.3, 1.0)),
        }
    return {
        "ATkRO(m)": dro.ATkROm(k=_K, **fixed, **at(6.0, 30.0)),
        "ATkRO(m)_a": dro.AnytimeATkROm(k=_K, **at(0.6, 6.0)),
        "ATkRO(k)": dro.ATkROk(k=_K, **fixed, **at(6.0, 1.0)),
        "ATkRO(1)_a": dro.AnytimeATkRO1(k=_K, **at(0.3, 1.0)),
    }


def _tuning_metric(learner: Learner, panel: Panel) -> str:
    del learner
    return "max_risk" if isinstance(panel.environment, dro.GroupData) else "top_k_risk"


def _q_grid(learner: Learner) -> tuple[float, ...]:
    """Return two factors of the step of q, larger ones for learners that sample all groups, whose steps are small."""
    few_samples = (dro.Online, dro.AnytimeOnline, dro.ATkROk, dro.AnytimeATkRO1)
    return (0.3, 1.0) if isinstance(learner, few_samples) else (1.0, 10.0)


def _objective(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    """Return the objective of a panel at record points, and its value at the horizon of the fixed step sizes."""
    value = trials.get(_tuning_metric(algorithm, panel))
    at = int(np.argmin(np.abs(trials.record_points - trials.horizon / _BEYOND)))
    return {"objective": value, "objective_at_preset": np.broadcast_to(value[..., at : at + 1], value.shape)}


def _change(label: str) -> Quantity:
    return mean(label, of="objective") - mean(label, of="objective_at_preset")


def _claims() -> Iterable[Claim]:
    for panel, place in (("adult", "Figure 8(a)"), ("heterogeneous", "Figure 8(b)")):
        at: Fields = {"on": panel, "place": place, "least": setting.SEEDS, "remark": _REMARK}
        pairs = [pair for name, *pair in _PAIRS if name == panel]
        ahead = (mean(fixed, of="objective_at_preset") < mean(anytime) for fixed, anytime in pairs)
        says = "at the horizon of the fixed steps, {label} is ahead of {rival}"
        yield from claims("ahead-at-preset", *ahead, says=says, **at)
        lower = (mean(anytime, of="objective") < mean(fixed) for fixed, anytime in pairs)
        says = "the anytime variant {label} ends below {rival} with its fixed steps"
        yield from claims("anytime-ends-lower", *lower, says=says, **at)
        level = (_change(fixed) > -_LEVEL for fixed, _ in pairs)
        yield from claims(
            "fixed-levels-off", *level, says="beyond the horizon of its fixed steps, {label} levels off or rises", **at
        )
        falling = (_change(anytime) < 0.0 for _, anytime in pairs)
        yield from claims("anytime-keeps-falling", *falling, says="the anytime variant {label} keeps falling", **at)


FIG8 = setting.STUDY.experiment(
    "fig8",
    "Figure 8",
    title="fixed step sizes beyond their horizon, and anytime variants",
    shows="Figure 8 shows, against the number of iterations and together with anytime variants, (a) the maximum risk "
    "of SMD(m) and Online(1) on Adult, and (b) the mean of the 3 largest risks of ATkRO(m) and ATkRO(k) on the second "
    "synthetic data set. The paper states a fixed T = 2000 in (a) and T = 50,000 in (b), marked by dashed lines, "
    "after which these methods continue with their parameters.",
    stand_ins={"adult": "Adult"},
    horizon=48_000,
    algorithms=_algorithms,
    **setting.adult_panels(_panels),
    metric="objective",
    tabulated=("objective_at_preset",),
    derive=_objective,
    record_points=("log", _RECORDS),
    horizons=lambda horizon, panel, labels: dict.fromkeys(labels, _rounds(horizon, panel)),
    width=1,
    claims=tuple(_claims()),
    tuning=setting.tuning(_tuning_metric, w=(0.1, 0.3, 1.0, 3.0, 6.0, 10.0), q=_q_grid, part=_BEYOND),
    notes=(
        setting.STAND_IN,
        "As in the paper, fixed step sizes are those for 2,000 rounds on Adult and for 50,000 rounds on the "
        f"heterogeneous set. They are used unchanged for {_BEYOND} times as many rounds, 48,000 and 1,200,000; the "
        f"factor {_BEYOND} is ours, since the paper says 'eventually'.",
        "In the preset tuned, all learners are tuned for the horizon of the fixed steps and then run for all rounds; "
        "anytime variants that are tuned for all rounds were not run. Curves show the averaged iterates that the "
        "methods return. The paper does not say whether its curves show averaged or last iterates; "
        "last iterates were not run.",
        f"'Levels off' is read as a decrease of less than {_LEVEL}, and 'ends below' as a smaller final value; both "
        f"readings are ours.",
        "ATkRO(k) has no anytime variant with a guarantee. ATkRO(1)_a, with one sample per round, is shown instead.",
    ),
    figures=(PanelCurves(mark=1.0 / _BEYOND, pairs=_PAIRS, logarithmic=True),),
)
