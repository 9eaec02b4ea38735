"""Regret on a ball against the noise and the variation of the losses: a numerical study of the SEA model, first part.

Wang, Barik, Zhao & Tan, "Parameter-free Algorithms for the Stochastically Extended Adversarial Model" (NeurIPS 2025).
The paper has no experiments: instances, sizes and thresholds are ours, its theorems say what to look for.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxbandits.algorithms.oco.adagrad_norm import AdaGradNorm
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.algorithms.oco.oons import OONS
from jaxbandits.algorithms.oco.optax_learner import OptaxLearner
from jaxbandits.algorithms.oco.optimistic_ftrl_2022 import OptimisticFTRL2022
from jaxbandits.algorithms.oco.optimistic_ftrl_2023 import OptimisticFTRL2023
from jaxbandits.algorithms.oco.optimistic_omd import OptimisticOMD
from jaxbandits.domains.ball import L2Ball
from jaxbandits.environments.oco.cell_noise import CellNoise
from jaxbandits.environments.oco.linear_losses import LinearLosses
from jaxbandits.environments.oco.random_order import RandomOrder
from jaxbandits.environments.oco.sequences import Alternating, Corrupted, Drift, Piecewise
from jaxbandits.experiments.declare import Claim, Experiment, Panel
from jaxbandits.experiments.statistic import (
    final_mean,
    growth_across,
    mean_difference,
    share_below,
    worst_ratio,
)
from jaxbandits.simulation import Result

_PAPER = "Wang, Barik, Zhao & Tan, NeurIPS 2025"
_OURS = "The paper has no experiments: instances, sizes and thresholds are ours."
_THEORY = {
    "theory": "every constant as the papers state it; 'heuristic': c_eta = 1, c_A = 1/4, c_corr = 1/2, c_meta = 1"
}

# E1: bound against regret ---------------------------------------------------------------------------------------------

_E1_DIM = 5


def _bounded_learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    """Learners on the unit ball (D = 2), told G where they need it."""
    del preset, horizon
    dim, lipschitz = panel.environment.dim, float(panel.environment.lipschitz)
    told = {"dim": dim, "lipschitz": lipschitz}
    return {
        "OONS": OONS.theory(**told),
        "OONS, heuristic": OONS.heuristic(**told),
        "optimistic OMD": OptimisticOMD(**told),
        "optimistic FTRL 2022": OptimisticFTRL2022(**told, offset=2.0 * lipschitz),
        "optimistic FTRL 2023": OptimisticFTRL2023(dim=dim),
        "OGD": OGD(**told),
        "AdaGrad-norm": AdaGradNorm(dim=dim),
        "optax AdaGrad": OptaxLearner.adagrad(dim, learning_rate=1.0, domain=L2Ball()),
        "optax COCOB": OptaxLearner.cocob(dim, domain=L2Ball()),
        "optax Prodigy": OptaxLearner.prodigy(dim, domain=L2Ball()),
    }


def _e1_environments(horizon: int) -> dict[str, tuple[str, Any]]:
    def iid(noise: float) -> LinearLosses:
        return LinearLosses(dim=_E1_DIM, mean=0.1, noise_scale=noise)

    def adversary(period: int) -> LinearLosses:
        return LinearLosses(dim=_E1_DIM, mean=1.0, noise_scale=0.0, sequence=Alternating(period=period))

    def moving(sequence: Any) -> LinearLosses:
        return LinearLosses(dim=_E1_DIM, mean=0.1, noise_scale=0.3, sequence=sequence)

    corrupted = Corrupted(count=max(1, min(64, (horizon - 3) // 2)), horizon=horizon)
    corners = np.eye(_E1_DIM)[[0, 1, 2, 3]]
    return {
        "iid-0.9": ("i.i.d., s = 0.9", iid(0.9)),
        "iid-0.3": ("i.i.d., s = 0.3", iid(0.3)),
        "iid-0.1": ("i.i.d., s = 0.1", iid(0.1)),
        "iid-0": ("i.i.d., s = 0", iid(0.0)),
        "flips-1": ("adversary, P = 1", adversary(1)),
        "flips-8": ("adversary, P = 8", adversary(8)),
        "flips-64": ("adversary, P = 64", adversary(64)),
        "corrupted": ("corrupted, C = 64, s = 0.3", moving(corrupted)),
        "random-order": ("random order, n = 64, s = 0.9", RandomOrder(dim=_E1_DIM, pool_size=64)),
        "drift": ("drift, s = 0.3", moving(Drift(horizon=horizon))),
        "piecewise": ("four segments, s = 0.3", moving(Piecewise.evenly(corners, horizon))),
    }


def _visible_bound(environment: Any, horizon: int, diameter: float = 2.0) -> float:
    """D (sqrt(sigma^2_{1:T}) + sqrt(Sigma^2_{1:T})): what Theorem 3.2 shows before its constants."""
    variance, variation = environment.cumulative_variance(horizon), environment.cumulative_variation(horizon)
    return diameter * (math.sqrt(float(variance)) + math.sqrt(float(variation)))


# Any learner beats the best fixed point there: its regret is negative, and no figure of bounds.
_E1_MOVING = ("flips-8", "flips-64", "drift", "piecewise")


def _e1_panels(horizon: int) -> Mapping[str, Panel]:
    panels = {}
    for name, (title, environment) in _e1_environments(horizon).items():
        bound = _visible_bound(environment, horizon)
        drawn = name not in _E1_MOVING
        panels[name] = Panel(title, environment, x=bound if drawn else math.nan, bound=bound)
    return panels


def _share_of_bound(result: Result, algorithms: Mapping[str, Any], panel: Panel) -> Mapping[str, Any]:
    del algorithms
    return {"share_of_bound": result.get("regret") / panel.bound}


E1 = Experiment(
    name="oco/e1",
    title="regret beside D (sqrt(sigma^2) + sqrt(Sigma^2)), linear losses on the unit ball of R^5",
    source=f"ours, on {_PAPER}, Theorem 3.2",
    horizon=2**17,
    seeds=256,
    presets=_THEORY,
    algorithms=_bounded_learners,
    panels=_e1_panels,
    metric="regret",
    derive=_share_of_bound,
    logarithmic=True,
    record=("log", 60),
    claims=tuple(
        Claim(
            f"OONS ends below D (sqrt(sigma^2) + sqrt(Sigma^2)) in the mean ({name})", "Theorem 3.2",
            final_mean(name, "OONS", "share_of_bound"), high=1.0,
        )
        for name in ("iid-0.9", "iid-0.3", "iid-0.1", "iid-0", "flips-1", "corrupted", "random-order")
    )
    + tuple(
        Claim(
            f"knowing the same, OONS does no worse than optimistic OMD: mean regret ({name})", "Table 1",
            mean_difference(name, "OONS", "optimistic OMD"), high=0.0,
        )
        for name in ("iid-0.9", "iid-0.3", "iid-0.1", "iid-0", "flips-1")
    )
    + tuple(
        Claim(
            f"the noise decides, not T: OGD loses more than OONS ({name})", "Table 1",
            mean_difference(name, "OGD", "OONS"), low=0.0,
        )
        for name in ("iid-0.9", "flips-1")  # without noise (iid-0) both end at the same corner: a tie
    ),
    notes=(
        _OURS, "Regret is against the best fixed point of the ball in hindsight. Where the mean moves (adversary with "
        "P > 1, drift, segments) a learner that follows it beats every fixed point: negative regret is correct there.",
        "The bound hides constants, logarithms, the rank r <= d and an additive term; at s = 0 only the last is left.",
        "Learners that need G are told the least one of each panel: m + s, which is 1, 0.4, 0.2 and 0.1 in the i.i.d. "
        "rows, 1 for the adversaries and random order, 0.4 in the other rows.",
        "COCOB and Prodigy (optax) are parameter-free on R^d; projected onto the ball after each step, as here, no "
        "theorem covers them.",
    ),
    figures=("against", "curves"),
    axis="D (sqrt(sigma^2) + sqrt(Sigma^2))",
)  # fmt: skip

# E5: scaling with sigma -----------------------------------------------------------------------------------------------

_SIGMAS = (0.05, 0.1, 0.2, 0.4, 0.8)


def _means(sigma: float, horizon: int) -> Sequence[float]:
    return (*(k * sigma / math.sqrt(horizon) for k in (1.0, 4.0, 16.0)), 0.15)


def _e5_panels(horizon: int) -> Mapping[str, Panel]:
    """Four means for every noise. Learners are told G = 1, which m + s does not exceed from T = 4096 on."""
    return {
        f"s{sigma:g}-m{i}": Panel(
            f"s = {sigma:g}, m = {mean:.3g}",
            LinearLosses(dim=2, mean=mean, noise_scale=sigma, comparator=-1.0),
            x=sigma,
        )
        for sigma in _SIGMAS
        for i, mean in enumerate(_means(sigma, horizon))
    }


def _of_sigma(sigma: float) -> tuple[str, ...]:
    return tuple(f"s{sigma:g}-m{i}" for i in range(4))


def _e5_learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    del preset, horizon
    dim = panel.environment.dim
    return {
        "OONS": OONS.theory(dim),
        "OONS, heuristic": OONS.heuristic(dim),
        "optimistic OMD": OptimisticOMD(dim=dim),
        "optimistic FTRL 2023": OptimisticFTRL2023(dim=dim),
        "OGD": OGD(dim=dim),
        "AdaGrad-norm": AdaGradNorm(dim=dim),
        "optax AdaGrad": OptaxLearner.adagrad(dim, learning_rate=1.0, domain=L2Ball()),
        "optax COCOB": OptaxLearner.cocob(dim, domain=L2Ball()),
        "optax Prodigy": OptaxLearner.prodigy(dim, domain=L2Ball()),
    }


def _over_noise(result: Result, algorithms: Mapping[str, Any], panel: Panel) -> Mapping[str, Any]:
    del algorithms
    return {"scaled_regret": result.get("pseudo_regret") / (panel.x * np.sqrt(result.records))}


E5 = Experiment(
    name="oco/e5",
    title="pseudo-regret over R s sqrt(T) against the noise s, worst of four means",
    source=f"ours, on {_PAPER}, Theorem 3.2",
    horizon=2**17,
    seeds=256,
    presets=_THEORY,
    algorithms=_e5_learners,
    panels=_e5_panels,
    metric="scaled_regret",
    derive=_over_noise,
    record=("log", 40),
    claims=tuple(
        Claim(
            f"{name} scales with the noise: the worst scaled regret at s = 0.05 is within 3 times that at s = 0.8",
            "Theorem 3.2",
            worst_ratio(_of_sigma(0.05), _of_sigma(0.8), name, "scaled_regret"), low=1.0 / 3.0, high=3.0,
        )
        for name in ("OONS", "OONS, heuristic", "optimistic OMD", "optimistic FTRL 2023")
    ),
    notes=(_OURS, "Linear losses on the unit ball of R^2 against u = -e_1; G = 1 is told. Means m: s/sqrt(T) times 1, "
           "4, 16, and 0.15. OONS leaves its step size's cap only when V_t > 16384 G^2."),
    figures=("against",),
    axis="s",
)  # fmt: skip

# E6: two measures of noise --------------------------------------------------------------------------------------------

_CELLS = (2, 8, 64)


def _per_round(result: Result, algorithms: Mapping[str, Any], panel: Panel) -> Mapping[str, Any]:
    del algorithms
    n = panel.x
    return {
        "pointwise_variance": result.get("pointwise") / result.records,
        "uniform_variance": result.get("uniform") / result.records,
        "uniform_error": np.abs(result.get("uniform") / result.records - (1.0 - (1.0 - 1.0 / n) ** n)),
        "pointwise_error": np.abs(result.get("pointwise") / result.records - 1.0 / n),
    }


E6 = Experiment(
    name="oco/e6",
    title="sup E against E sup: two measures of the same noise",
    source=f"{_PAPER}, Proposition A.1",
    horizon=2**14,
    seeds=256,
    presets={"theory": "every constant as the paper states it"},
    algorithms=lambda preset, horizon, panel: {"any learner": OGD(dim=1)},
    panels=lambda horizon: {
        f"n-{n}": Panel(f"n = {n}", CellNoise(n_cells=n), x=float(n), bound=1.0 - (1.0 - 1.0 / n) ** n) for n in _CELLS
    },
    metric="uniform_variance",
    tabulated=("pointwise_variance",),
    derive=_per_round,
    claims=tuple(
        Claim(
            f"sigma~^2 = 1 - (1 - 1/n)^n = {1 - (1 - 1 / n) ** n:.4f} and sigma^2 = 1/n: {what}, to 2 % (n = {n})",
            "Proposition A.1", share_below(f"n-{n}", "any learner", f"{what}_error", 0.02), low=0.95, trials=200,
        )
        for n in _CELLS
        for what in ("uniform", "pointwise")
    ),
    notes=("An identity about noise, not about learners: nobody's play matters here.",),
    figures=("against",),
    axis="cells n",
)  # fmt: skip

# Dependence on Sigma --------------------------------------------------------------------------------------------------

_AMPLITUDES = (0.05, 0.1, 0.2, 0.4, 0.8)
_AMPLITUDE_PANELS = {f"m-{amplitude:g}": amplitude for amplitude in _AMPLITUDES}


def _variation_panels(horizon: int) -> Mapping[str, Panel]:
    panels = {}
    for name, amplitude in _AMPLITUDE_PANELS.items():
        environment = LinearLosses(dim=2, mean=amplitude, noise_scale=0.05, sequence=Alternating(period=1))
        panels[name] = Panel(f"m = {amplitude:g}", environment, x=amplitude, bound=_visible_bound(environment, horizon))
    return panels


def _variation_learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    del preset, horizon
    dim = panel.environment.dim
    return {
        "OONS": OONS.theory(dim),
        "OONS, heuristic": OONS.heuristic(dim),
        "optimistic OMD": OptimisticOMD(dim=dim),
        "optimistic FTRL 2023": OptimisticFTRL2023(dim=dim),
        "OGD": OGD(dim=dim),
    }


_OPTIMISTIC = ("OONS", "OONS, heuristic", "optimistic OMD", "optimistic FTRL 2023")

VARIATION = Experiment(
    name="oco/variation",
    title="regret against the amplitude m of a mean that flips every round: Sigma^2 = 4 m^2 a round",
    source=f"ours, on {_PAPER}, Theorem 3.2",
    horizon=2**15,
    seeds=256,
    presets=_THEORY,
    algorithms=_variation_learners,
    panels=_variation_panels,
    metric="regret",
    tabulated=("share_of_bound",),
    derive=_share_of_bound,
    record=("log", 20),
    claims=tuple(
        Claim(
            f"{name} ends below D (sqrt(sigma^2) + sqrt(Sigma^2)) in the mean (m = {amplitude:g})", "Theorem 3.2",
            final_mean(panel, name, "share_of_bound"), high=1.0,
        )
        for name in ("OONS", "OONS, heuristic")
        for panel, amplitude in _AMPLITUDE_PANELS.items()
    )
    + tuple(
        Claim(
            f"{name}: regret grows at most in proportion to Sigma: log-log slope in m at most 1", "ours",
            growth_across(_AMPLITUDE_PANELS, name), high=1.0,
        )
        for name in _OPTIMISTIC
    ),
    notes=(
        _OURS, "Linear losses on the unit ball of R^2; the noise is small, s = 0.05, and G = 1 is told throughout.",
        "The theorem bounds regret at every m, by something that grows at most in proportion to m; it says nothing "
        "about the slope of the regret below that bound. While A_t is about 16 G^2 I the last gradient as a hint costs "
        "OONS about m^2/16 a round, a slope of 2, until its curvature has grown.",
        "OGD needs no hint here: flips cancel in its steps, and the hints of the others are always wrong.",
    ),
    figures=("against",),
    axis="m",
)  # fmt: skip

OF_NOISE = (E5, E6, VARIATION)
