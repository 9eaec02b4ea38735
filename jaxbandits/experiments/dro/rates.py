"""Rates at which duality gaps fall with the rounds, and grow with the groups at equally many samples."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandits.algorithms.dro.anytime_atkro_1 import AnytimeATkRO1
from jaxbandits.algorithms.dro.anytime_atkro_m import AnytimeATkROm
from jaxbandits.algorithms.dro.anytime_online import AnytimeOnline
from jaxbandits.algorithms.dro.anytime_smd import AnytimeSMD
from jaxbandits.algorithms.dro.atkro_k import ATkROk
from jaxbandits.algorithms.dro.atkro_m import ATkROm
from jaxbandits.algorithms.dro.online import Online
from jaxbandits.algorithms.dro.smd import SMD
from jaxbandits.domains.ball import L2Ball
from jaxbandits.environments.dro.synthetic_groups import SyntheticGroups
from jaxbandits.experiments.dro.setting import PAPER
from jaxbandits.experiments.engine.claim import Claim, Measured
from jaxbandits.experiments.engine.experiment import Experiment, Panel
from jaxbandits.experiments.engine.statistic import growth_across
from jaxbandits.experiments.engine.thresholds import FLAT
from jaxbandits.results.curves import COLOURS, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from jaxbandits.experiments.engine.run import Report

TRIALS, SEEDS = 100, 400  # that a claim needs, and that are run: with 100 three claims stayed undecided
HORIZON = 64_000
_RADIUS, _DIM, _GROUPS, _K = 1.0, 5, 10, 3
_PARTS = (64, 16, 4, 1)  # of the horizon
_MS = (4, 8, 16, 32)
_ANYTIME = {"SMD(m)_a": AnytimeSMD, "Online(1)_a": AnytimeOnline}
_FIXED = {"SMD(m)": SMD, "Online(1)": Online}
_ANYTIME_TOP = {"ATkRO(m)_a": AnytimeATkROm, "ATkRO(1)_a": AnytimeATkRO1}
_FIXED_TOP = {"ATkRO(m)": ATkROm, "ATkRO(k)": ATkROk}

_ROUNDS = {f"T-over-{part}": 1.0 / part for part in _PARTS}  # panel to share of the horizon
_TOP_ROUNDS = {f"top-3-T-over-{part}": 1.0 / part for part in _PARTS}
_SAMPLES = {f"m-{m}": float(m) for m in _MS}
_PANEL_OF = {**dict.fromkeys((*_FIXED, *_ANYTIME), _ROUNDS), **dict.fromkeys((*_FIXED_TOP, *_ANYTIME_TOP), _TOP_ROUNDS)}
_THEOREM = {"SMD(m)": 1, "SMD(m)_a": 2, "Online(1)": 5, "Online(1)_a": 8}
_THEOREM |= {"ATkRO(m)": 12, "ATkRO(m)_a": 13, "ATkRO(k)": 15, "ATkRO(1)_a": 16}


def _groups(n_groups: int, top_k: int = 1) -> SyntheticGroups:
    return SyntheticGroups.heterogeneous(dim=_DIM, n_groups=n_groups, radius=_RADIUS, top_k=top_k)


def _panels(horizon: int) -> Mapping[str, Panel]:
    panels = {}
    for k, named in ((1, _ROUNDS), (_K, _TOP_ROUNDS)):
        for name, share in named.items():
            rounds = max(1, round(horizon * share))
            panels[name] = Panel(f"T = {rounds}, k = {k}", _groups(_GROUPS, k), x=float(rounds))
    for name, m in _SAMPLES.items():
        panels[name] = Panel(f"m = {m:g}, {horizon} samples", _groups(int(m)), x=m)
    return panels


def _rounds(horizon: int, panel: Panel, label: str) -> int:
    """T of a panel of rounds; in those of samples, as many rounds as these last."""
    if panel.title.startswith("T"):
        return int(panel.x)
    return max(1, horizon // panel.environment.n_groups) if "(m)" in label else horizon


def _algorithms(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    del preset
    told: dict[str, Any] = {"dim": _DIM, "n_groups": panel.environment.n_groups, "domain": L2Ball(radius=_RADIUS)}
    fixed, anytime = _FIXED, _ANYTIME
    if panel.environment.top_k > 1:
        told["k"] = _K
        fixed, anytime = _FIXED_TOP, _ANYTIME_TOP
    made = {label: cls(horizon=_rounds(horizon, panel, label), **told) for label, cls in fixed.items()}
    return made | {label: cls(**told) for label, cls in anytime.items()}


def _horizons(horizon: int, panel: Panel, labels: Mapping[str, Any]) -> Mapping[str, int]:
    return {label: _rounds(horizon, panel, label) for label in labels}


def _anytime_exponent(horizon: int) -> float:
    """Of log(t) / sqrt(t) between the shortest and the longest run."""
    first, last = horizon / _PARTS[0], float(horizon)
    return -0.5 + math.log(math.log(last) / math.log(first)) / math.log(last / first)


def _groups_exponent() -> float:
    """Of sqrt(m log m) between the fewest groups and the most."""
    first, last = _MS[0], _MS[-1]
    return 0.5 + 0.5 * math.log(math.log(last) / math.log(first)) / math.log(last / first)


def _upper(label: str) -> str:
    """What a growth is read off: the paper has bounds, and no table of them."""
    return f"ours, on Theorem {_THEOREM[label]} (an upper bound)"


def _across(panels: Mapping[str, float], label: str) -> Any:
    return growth_across(panels, label, "duality_gap")


@dataclasses.dataclass(frozen=True)
class Rates:
    """Mean final gaps with their intervals against T, and against m at equally many samples; fitted exponents."""

    name: str = "rates"

    def draw(self, plt: Any, report: "Report") -> "Figure":
        """Makes the figure, without its title."""
        from matplotlib.ticker import LogLocator

        figure, axes = plt.subplots(1, 3, figsize=(13.0, 5.6), layout="constrained")
        rounds, samples = (_inverse_root, "$T^{-1/2}$"), (_root_log, r"$(m \log m)^{1/2}$")
        top = f"mean of the {_K} largest risks, m = {_GROUPS}"
        parts = (
            (f"maximal risk, m = {_GROUPS}", "rounds T", _ROUNDS, (*_FIXED, *_ANYTIME), rounds),
            (top, "rounds T", _TOP_ROUNDS, (*_FIXED_TOP, *_ANYTIME_TOP), rounds),
            (f"maximal risk, {report.horizon:,} samples", "groups m", _SAMPLES, (*_FIXED, *_ANYTIME), samples),
        )
        for ax, (title, axis, panels, labels, law) in zip(axes, parts, strict=True):
            _draw(ax, report, panels, labels, *law)
            ax.set(xscale="log", yscale="log", title=title, xlabel=axis, ylabel="mean duality gap")
            at = [report.panels[name].x for name in panels]
            ax.set_xticks(at, [f"{x:,.0f}" for x in at])
            ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ax.yaxis.set_major_formatter("{x:g}")
            ax.minorticks_off()
            ax.spines[["top", "right"]].set_visible(False)
            seeds = max(len(trials.seeds) for trials in report.results[next(iter(panels))].trials.values())
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), fontsize="small", title_fontsize="small",
                      frameon=False, title=f"exponent, 95 %; {seeds} seeds")  # fmt: skip
        return figure


def _inverse_root(rounds: np.ndarray) -> np.ndarray:
    return rounds**-0.5


def _root_log(groups: np.ndarray) -> np.ndarray:
    return np.sqrt(groups * np.log(groups))


def _draw(
    ax: "Axes",
    report: "Report",
    panels: Mapping[str, float],
    labels: Sequence[str],
    law: Callable[[np.ndarray], np.ndarray],
    statement: str,
) -> None:
    """One axes; a dotted line has the shape of the theory."""
    at = np.array([report.panels[name].x for name in panels])
    measured, means = Measured(report.results, {}), []
    for j, label in enumerate(labels):
        if any(label not in report.results[name] for name in panels):
            continue  # left out of this run
        rows = [row for name in panels for row in report.results[name].summary("duality_gap") if row.label == label]
        mean, low, high = (np.array([getattr(row, key) for row in rows]) for key in ("mean", "low", "high"))
        found = _across(dict(zip(panels, at, strict=True)), label)(measured)
        text = f"{label}: {float(found.mean):.2f} [{float(found.low):.2f}, {float(found.high):.2f}]"
        ax.errorbar(at, mean, [mean - low, high - mean], color=COLOURS[j], marker=MARKERS[j], markersize=5, capsize=2,
                    label=text if np.isfinite(found.mean) else label)  # fmt: skip
        means.append(mean)
    if means:
        shape = law(at)
        ax.plot(at, 0.7 * np.min(means) / shape.min() * shape, color="0.4", linestyle=":", label=statement)


RATES = Experiment(
    name="dro/rates",
    title="duality gaps against rounds, and against groups at equally many samples",
    source=f"{PAPER}, Theorems 1-16",
    horizon=HORIZON,
    seeds=SEEDS,
    presets={"theory": "the step sizes of the theorems, G = sqrt(d), a ball of radius 1"},
    algorithms=_algorithms,
    panels=_panels,
    metric="duality_gap",
    horizons=_horizons,
    record_points=2,
    claims=tuple(
        Claim(f"{label}: the gap falls as T^(-1/2); here: its exponent between T/64 and T is below {-0.5 + FLAT:g}",
              _upper(label), _across(_PANEL_OF[label], label), high=-0.5 + FLAT,
              trials=TRIALS)
        for label in (*_FIXED, *_FIXED_TOP)
    )
    + tuple(
        Claim(f"{label}: the gap falls as log(t) t^(-1/2); here: its exponent is at most that law's between T/64 and T",
              _upper(label), _across(_PANEL_OF[label], label),
              high=_anytime_exponent(HORIZON), trials=TRIALS)
        for label in (*_ANYTIME, *_ANYTIME_TOP)
    )
    + tuple(
        Claim(f"{label}: at equally many samples the gap grows at most as sqrt(m log m), m from {_MS[0]} to {_MS[-1]}",
              _upper(label), _across(_SAMPLES, label), high=_groups_exponent(), trials=TRIALS)
        for label in (*_FIXED, *_ANYTIME)
    ),
    notes=(
        f"Heterogeneous synthetic groups, d = {_DIM}, every trial its own: gaps are exact. m = {_GROUPS} where T "
        "varies. Logistic losses exceed 1, so that the theorems' constants bound nothing here; rates are looked at.",
        "The theorems bound gaps from above, by more than is seen here (dro/bounds): exponents over a stretch may be "
        "steeper or flatter. With more groups the problem is another one, whose gap need not grow like the bound.",
        "Where an exponent lies within 0.005 of the law's, as that of SMD(m)_a in m did on 100 seeds (0.723, the law "
        "has 0.720), about 6000 seeds would decide: it may stay undecided here.",
    ),
    figures=(Rates(),),
)  # fmt: skip
