"""Rates at which duality gaps fall with the rounds, and grow with the number of groups for equally many samples."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandits.base.text import count_of
from jaxbandits.domains import L2Ball
from jaxbandits.dro import SyntheticGroups
from jaxbandits.plots.curves import COLOURS, MARKERS, SMALL_LEGEND
from jaxbandits.reproduction.engine import Claim, Learners, Measurements, Panel, Report
from jaxbandits.reproduction.experiments.dro import setting
from jaxbandits.reproduction.experiments.dro.bounds import THEOREMS
from jaxbandits.reproduction.sentences import FLAT, growth_across, growth_over, observations, slug

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TRIALS, SEEDS = 100, 400  # trials that a claim needs, and trials that are run; with 100, three claims stay open
HORIZON = 64_000
_RADIUS, _DIM, _GROUPS, _K = 1.0, 5, 10, 3
_PARTS = (64, 16, 4, 1)  # divisors of the horizon
_MS = (4, 8, 16, 32)
_FIXED, _ANYTIME = ("SMD(m)", "Online(1)"), ("SMD(m)_a", "Online(1)_a")
_FIXED_TOP, _ANYTIME_TOP = ("ATkRO(m)", "ATkRO(k)"), ("ATkRO(m)_a", "ATkRO(1)_a")

_ROUNDS = {f"T-over-{part}": 1.0 / part for part in _PARTS}  # share of the horizon by panel
_TOP_ROUNDS = {f"top-3-T-over-{part}": 1.0 / part for part in _PARTS}
_SAMPLES = {f"m-{m}": float(m) for m in _MS}


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
    """Return T in panels that vary T, or the number of rounds that use all samples in panels that vary m."""
    if panel.title.startswith("T"):
        return int(panel.x)
    return max(1, horizon // panel.environment.n_groups) if "(m)" in label else horizon


def _algorithms(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset
    common = {"dim": _DIM, "n_groups": panel.environment.n_groups, "domain": L2Ball(radius=_RADIUS)}
    fixed, anytime = _FIXED, _ANYTIME
    if panel.environment.top_k > 1:
        common["k"] = _K
        fixed, anytime = _FIXED_TOP, _ANYTIME_TOP
    own = {label: {"horizon": _rounds(horizon, panel, label)} for label in fixed} | {label: {} for label in anytime}
    return {label: THEOREMS[label].learner(**common, **fields) for label, fields in own.items()}


def _horizons(horizon: int, panel: Panel, labels: Learners) -> Mapping[str, int]:
    return {label: _rounds(horizon, panel, label) for label in labels}


def _anytime_exponent(horizon: int) -> float:
    """Return the log-log slope of log(t) / sqrt(t) between the shortest and the longest run."""
    first, last = horizon / _PARTS[0], float(horizon)
    return -0.5 + math.log(math.log(last) / math.log(first)) / math.log(last / first)


def _groups_exponent() -> float:
    """Return the log-log slope of sqrt(m log m) between the smallest and the largest number of groups."""
    first, last = _MS[0], _MS[-1]
    return 0.5 + 0.5 * math.log(math.log(last) / math.log(first)) / math.log(last / first)


def _claims() -> Iterable[Claim]:
    """Make the claim that exponents are at most those of the bounds, since the paper has upper bounds only."""
    over_t, over_m = f"T from T/{_PARTS[0]} to T", f"m from {_MS[0]} to {_MS[-1]}"
    fixed = ("falls-in-t", over_t, "the duality gap of {label} falls about as fast as T^(-1/2), or faster", -0.5 + FLAT)
    anytime = ("falls-in-t", over_t, "the duality gap of {label} falls at least as fast as log(t) "
                                     "t^(-1/2)", _anytime_exponent(HORIZON))
    says = "with the same number of samples, the duality gap of {label} grows no faster than sqrt(m log m)"
    groups = ("grows-in-m", over_m, says, _groups_exponent())
    for (id, axis, says, most), panels, labels in (
        (fixed, _ROUNDS, _FIXED),
        (anytime, _ROUNDS, _ANYTIME),
        (fixed, _TOP_ROUNDS, _FIXED_TOP),
        (anytime, _TOP_ROUNDS, _ANYTIME_TOP),
        (groups, _SAMPLES, (*_FIXED, *_ANYTIME)),
    ):
        for label in labels:
            yield from observations(f"{slug(label)}-{id}", growth_over(panels, axis, label, of="duality_gap") < most,
                                    says=says, place=f"{THEOREMS[label].source} (an upper bound)",
                                    least=TRIALS)


@dataclasses.dataclass(frozen=True)
class Rates:
    """Mean final duality gaps against the rounds T, and against the number of groups m for equally many samples.

    Error bars are 95 % intervals, the legend lists the fitted exponents, and a dotted line shows the slope of the
    theory.

    Attributes:
      name: suffix of the file names (`Drawing.name`).
    """

    name: str = "rates"

    def draw(self, plt: ModuleType, report: Report) -> "Figure":
        """Draw and return the figure, without its title."""
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
            title = f"exponent, 95 %; {count_of(seeds, 'seed')}"
            ax.legend(title=title, loc="upper center", bbox_to_anchor=(0.5, -0.14), **SMALL_LEGEND)
        return figure


def _inverse_root(rounds: np.ndarray) -> np.ndarray:
    return rounds**-0.5


def _root_log(groups: np.ndarray) -> np.ndarray:
    return np.sqrt(groups * np.log(groups))


def _draw(
    ax: "Axes",
    report: Report,
    panels: Mapping[str, float],
    labels: Sequence[str],
    law: Callable[[np.ndarray], np.ndarray],
    statement: str,
) -> None:
    """Draw one axes, with a dotted line that has the shape of the theory."""
    at = np.array([report.panels[name].x for name in panels])
    measured, means = Measurements(report.results, {}), []
    for j, label in enumerate(labels):
        if any(label not in report.results[name] for name in panels):
            continue  # left out of this run
        rows = [row for name in panels for row in report.results[name].summary("duality_gap") if row.label == label]
        mean, low, high = (np.array([getattr(row, key) for row in rows]) for key in ("mean", "low", "high"))
        found = growth_across(dict(zip(panels, at, strict=True)), label, "duality_gap")(measured)
        text = f"{label}: {float(found.mean):.2f} [{float(found.low):.2f}, {float(found.high):.2f}]"
        style: dict[str, Any] = {"color": COLOURS[j], "marker": MARKERS[j], "markersize": 5, "capsize": 2}
        ax.errorbar(at, mean, [mean - low, high - mean], label=text if np.isfinite(found.mean) else label, **style)
        means.append(mean)
    if means:
        shape = law(at)
        ax.plot(at, 0.7 * np.min(means) / shape.min() * shape, color="0.4", linestyle=":", label=statement)


RATES = setting.THEOREMS.experiment(
    "rates",
    "Theorems 1-16",
    title="duality gaps against the number of rounds, and against the number of groups for a fixed number of samples",
    horizon=HORIZON,
    seeds=SEEDS,
    presets={"theory": "the step sizes of the theorems, G = sqrt(d), a ball of radius 1"},
    algorithms=_algorithms,
    panels=_panels,
    metric="duality_gap",
    horizons=_horizons,
    record_points=2,
    claims=tuple(_claims()),
    notes=(
        f"Every trial has its own heterogeneous synthetic groups in dimension d = {_DIM}; gaps are computed exactly. "
        f"In panels in which T varies, m = {_GROUPS}. Logistic losses exceed 1, so the constants of the theorems do "
        f"not apply here, and only rates are compared.",
        "The theorems bound gaps from above, and the bounds are loose (dro/bounds), so measured exponents may be "
        "larger or smaller. A different number of groups is a different problem, whose gap need not grow like the "
        "bound.",
    ),
    figures=(Rates(),),
)
