"""Theorems 9 and 10 of Zhang et al.: risks of single groups with unequal budgets, and their bounds."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxbandits.algorithms.dro.steps import budget_weights
from jaxbandits.analysis.trials import Trials
from jaxbandits.base.pytree import Fields
from jaxbandits.domains import Box
from jaxbandits.dro import SMPA, ExampleGroups, SMDr
from jaxbandits.reproduction.engine import Against, Claim, Learner, Learners, Panel
from jaxbandits.reproduction.experiments.dro import setting
from jaxbandits.reproduction.experiments.dro.bounds import DELTA, DIAMETER_SQ, LIPSCHITZ, PRODUCT, TRIALS
from jaxbandits.reproduction.sentences import FLAT, growth_over, observations, share, slug, theorems
from jaxbandits.theory import dro as theory

HORIZON = 400_000  # n_1
_SMOOTHNESS = 2.0  # smoothness L of w^2 - 2 mu w + mu
_PARTS = (64, 16, 4, 1)  # divisors of n_1
_ROUNDS = {f"n-over-{part}": 1.0 / part for part in _PARTS}  # panel to share of n_1
_LAST = f"n-over-{_PARTS[-1]}"
_FEW = 8  # number of groups (of the smallest means) with half as many rows as the others


class _Theorem(NamedTuple):
    """Learner with its theorem, the weights b_i of the risks in its problem, and the bounds for single groups."""

    learner: type
    source: str
    factors: Callable[[Sequence[int]], np.ndarray]
    bounds: Callable[[Sequence[int]], np.ndarray]


def _shares(budgets: Sequence[int]) -> np.ndarray:
    """Return the weights b_i = n_i / n_1 in the problem that SMD_r solves."""
    return np.asarray(budgets) / max(budgets)


THEOREMS: Mapping[str, _Theorem] = {
    "SMD_r": _Theorem(
        SMDr, "Theorem 9", _shares, lambda budgets: theory.theorem_9(budgets, product=PRODUCT, delta=DELTA)
    ),
    "SMPA_m": _Theorem(
        SMPA,
        "Theorem 10 (with c = 1 for its unspecified constant)",
        lambda budgets: budget_weights(tuple(budgets)),
        lambda budgets: theory.theorem_10(
            budgets,
            budget_weights(tuple(budgets)),
            diameter_sq=DIAMETER_SQ,
            lipschitz=LIPSCHITZ,
            smoothness=_SMOOTHNESS,
            delta=DELTA,
        ),
    ),
}


def weighted_optimum(means: Sequence[float] | np.ndarray, factors: Sequence[float] | np.ndarray) -> float:
    """Return p* of (36) for Bernoulli groups: the minimum over w in [0, 1] of max_i b_i (w^2 - 2 mu_i w + mu_i).

    Args:
      means: means mu_i of the groups, shape `[m]`.
      factors: weights b_i > 0, shape `[m]`.
    """
    mu, b = np.asarray(means), np.asarray(factors)

    def worst(w: float) -> float:
        return float(np.max(b * (w * w - 2.0 * mu * w + mu)))

    low, high, inner = 0.0, 1.0, (math.sqrt(5.0) - 1.0) / 2.0
    for _ in range(80):  # golden sections of a strictly convex function
        a, c = high - inner * (high - low), low + inner * (high - low)
        low, high = (low, c) if worst(a) < worst(c) else (a, high)
    return worst(0.5 * (low + high))


def budgets_of(n_1: int) -> tuple[int, ...]:
    """Return the budgets of the 16 groups, for a largest budget of n_1 rounded down to a multiple of 4.

    The eight groups with the smallest means have half of the largest budget, an even number, and the other groups have
    the largest budget, which is at least 4.
    """
    least = 2 * max(1, n_1 // 4)
    return (*(least for _ in range(_FEW)), *(2 * least for _ in range(ExampleGroups().n_groups - _FEW)))


def _panels(horizon: int) -> Mapping[str, Panel]:
    largest = {name: max(budgets_of(round(share * horizon))) for name, share in _ROUNDS.items()}
    return {name: Panel(f"n_1 = {n:,}", ExampleGroups(), x=float(n)) for name, n in largest.items()}


def _algorithms(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, horizon
    common: Fields = {"dim": 1, "budgets": budgets_of(int(panel.x)), "domain": Box(dim=1, low=0.0, high=1.0)}
    common |= {"lipschitz": LIPSCHITZ, "diameter_sq": DIAMETER_SQ}
    return {"SMD_r": SMDr(**common), "SMPA_m": SMPA(**common, smoothness=_SMOOTHNESS)}


def _horizons(horizon: int, panel: Panel, labels: Learners) -> Mapping[str, int]:
    del horizon, panel
    return {label: learner.rounds for label, learner in labels.items()}


def _with_excess(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    """Compute the maximum over groups of b_i R_i - p*, and the maximum of R_i - p* / b_i divided by its bound."""
    (theorem,) = (theorem for theorem in THEOREMS.values() if theorem.learner is type(algorithm))
    factors, risk = theorem.factors(algorithm.budgets), trials.get("risk")
    optimum = weighted_optimum(np.asarray(panel.environment.means), factors)
    share = (risk - optimum / factors) / theorem.bounds(algorithm.budgets)
    return {"excess": np.max(factors * risk, axis=-1) - optimum, "excess_share": share.max(axis=-1)}


def _claims() -> Iterable[Claim]:
    likely = f"with probability at least 1 - delta = {1.0 - DELTA:g}"
    over_n, axis = {name: part * HORIZON for name, part in _ROUNDS.items()}, f"n_1 from n_1/{_PARTS[0]} to n_1"
    for label, (_, source, *_) in THEOREMS.items():
        at: Fields = {"on": _LAST, "place": source, "least": TRIALS}
        within, falls = share(label, of="excess_share"), growth_over(over_n, axis, label, of="excess")
        says = f"with {{label}}, the risks of all groups are within their bounds {likely}"
        yield from theorems(f"{slug(label)}-within-bounds", within > 1.0 - DELTA, says=says, **at)
        says = "the excess of the weighted risks of {label} falls about as fast as n_1^(-1/2), or faster"
        place = f"{source} (an upper bound)"
        yield from observations(f"{slug(label)}-excess-falls", falls < -0.5 + FLAT, says=says, place=place, least=100)


BUDGETS = setting.THEOREMS.experiment(
    "budgets",
    "Theorems 9 and 10",
    title="risks of single groups with unequal numbers of samples, and their bounds on Example 1",
    horizon=HORIZON,
    seeds=TRIALS,
    presets={"theory": "the step sizes of the theorems for D^2 = 1/2, G = 2, L = 2, kappa = c = 1"},
    algorithms=_algorithms,
    panels=_panels,
    metric="excess",
    tabulated=("excess_share",),
    horizons=_horizons,
    record_points=2,
    derive=_with_excess,
    claims=tuple(_claims()),
    notes=(
        "Losses are (w - z)^2 with w and z in [0, 1]. Of the 16 groups, the eight with the largest means have n_1 rows "
        "each, and the others half as many. SMD_r plays n_1 rounds; SMPA_m plays n_m rounds, two for each of its n_m / "
        "2 steps. In the weighted problem, the risk R_i of group i has the weight b_i; the optimum p* is exact.",
        "The excess is the largest b_i R_i minus p*. According to the theorems it falls as sqrt(1 / n_1) for SMD_r, "
        "and as 1 / n_m plus sqrt(1 / n_i) for SMPA_m. No risk exceeds 1, and at the largest n_1 every bound on R_i - "
        "p* / b_i is below 1 - p* / b_i, so a run could violate it.",
        "Theorem 10 contains an absolute constant c, which it does not specify; step sizes and bounds use c = 1.",
    ),
    figures=(Against("n_1"),),
)
