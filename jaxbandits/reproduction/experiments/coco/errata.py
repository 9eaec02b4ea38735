"""Errata of Wang et al. (2025), demonstrated by runs with and without each correction."""

import dataclasses
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.analysis.intervals import Estimate
from jaxbandits.analysis.trials import Trials
from jaxbandits.base.pytree import Fields
from jaxbandits.coco import (
    BFWTVC,
    LBPM,
    LPM,
    OFWTVC,
    SCBFWTVC,
    SCOFWTVC,
    LinearConstraints,
    QuadraticConstraints,
    TwoPoint,
)
from jaxbandits.diagnostics import coco as meters
from jaxbandits.domains import L1Ball, L2Ball, points
from jaxbandits.plots import curves
from jaxbandits.reproduction.engine import Learner, Learners, Measurements, Panel, Problem, Report, common_finals
from jaxbandits.reproduction.engine.claim import quote_label
from jaxbandits.reproduction.experiments.coco.setting import RECONSTRUCTED, STUDY, constants
from jaxbandits.reproduction.sentences import (
    OUT_OF_REACH,
    as_statistic,
    exact_value,
    mean,
    mean_difference,
    measure,
    observations,
    relative_change,
    scale,
    share,
    share_for_all,
    theorems,
)
from jaxbandits.simulation import Meter, Round
from jaxbandits.theory import coco as theory

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Case(NamedTuple):
    """Flaw of the paper, with the metric that shows it and with learners with and without the flaw."""

    title: str
    environment: Problem
    learners: Callable[[int, Problem], Learners]  # function from horizon and environment to the learners
    metric: str  # metric that shows the flaw
    share: float = 1.0  # share of the rounds


_OUT_OF_REACH = {"margin": 100.0, "margin_spread": 0.0}  # a constraint that no point violates
_L1 = QuadraticConstraints(dim=10, domain=L1Ball(), slope_noise=0.0, margin_spread=0.0)
# The multiplier of the constraint is about 44 for gradients of up to 210, and about 0.4 if g is as steep as f.
_LARGE = QuadraticConstraints(
    dim=10, domain=L1Ball(radius=100.0), center=80.0, target_noise=30.0, slope_noise=0.0, margin=20.0, margin_spread=0.0
)
_HALF_SPACE = LinearConstraints(
    dim=2, cost=0.0, cost_noise=0.0, slope_noise=0.0, margin=1e-9, margin_spread=0.0, domain=L2Ball()
)


def _steps(horizon: int, environment: Problem) -> Learners:
    """Make learners that start from a vertex, for losses whose gradients are equal in all rounds."""
    setting: Fields = {
        "dim": 2,
        "horizon": horizon,
        "domain": environment.domain,
        "start": np.asarray([1.0, 0.0]),
    }
    return {
        "min(1, 2 / sqrt(t - s + 1))": OFWTVC.theory(**setting),
        "2 / sqrt(t - s + 1), as printed": OFWTVC.theory(**setting, step_cap=np.inf),
    }


def _first_level(horizon: int, environment: Problem) -> Learners:
    setting = constants(environment, horizon)
    return {"G~ = beta G gamma": OFWTVC.theory(**setting), "G~ = 1, as printed": OFWTVC.theory(**setting, g_init=1.0)}


def _weights(horizon: int, environment: Problem) -> Learners:
    setting = constants(environment, horizon)
    return {"balanced (ours)": OFWTVC.practical(**setting), "Theorem 1": OFWTVC.theory(**setting)}


def _scales(horizon: int, environment: Problem) -> Learners:
    scaled: Fields = constants(environment, horizon) | {"curvature": 1.0}
    plain: Fields = scaled | {"constraint_scale": 1.0}
    return {"g scaled to the steepness of f": SCOFWTVC.theory(**scaled), "g as it is": SCOFWTVC.theory(**plain)}


def _centres(horizon: int, environment: Problem) -> Learners:
    """Make learners that differ in (27) only. They receive two values per round, so only the direction is random."""
    setting: Fields = constants(environment, horizon) | {"estimator": TwoPoint(), "curvature": 1.0}
    return {
        "re-centred": SCBFWTVC.practical(**setting),
        "(27), as printed": SCBFWTVC.practical(**setting, recenter=False),
    }


def _betas(horizon: int, environment: Problem) -> Learners:
    setting: Fields = constants(environment, horizon) | {"curvature": 1.0}
    return {"beta of the proof": SCOFWTVC.theory(**setting), "beta of Theorem 2": SCOFWTVC.printed(**setting)}


def _orders(horizon: int, environment: Problem) -> Learners:
    """Make learners that never move, since their block is longer than the run; half of their plays are infeasible."""
    setting: Fields = {"dim": 2, "horizon": horizon, "domain": environment.domain, "block": horizon + 1}
    setting |= {"delta": 0.5, "beta": 1.0, "gamma": 1.0, "lam": 2.5}
    return {"w_t of Q_{t-1}": BFWTVC(**setting, weight_before=True), "w_t of Q_t, as printed": BFWTVC(**setting)}


def _blocks(horizon: int, environment: Problem) -> Learners:
    setting = constants(environment, horizon, scaled=False)
    return {"eps = 1.8 R^2 / sqrt(T) (ours)": LPM.practical(**setting), "eps = 60 R^2 / sqrt(T)": LPM.theory(**setting)}


_STRAIGHT = LinearConstraints(dim=2, domain=L2Ball(), cost_noise=0.0, slope_noise=0.0, **_OUT_OF_REACH)
_TARGET = QuadraticConstraints(dim=2, domain=L2Ball(), center=0.6, target_noise=0.1, **_OUT_OF_REACH)
_CASES = {
    "step": _Case("steps above 1 leave K", _STRAIGHT, _steps, "norm"),
    "g-init": _Case("G~ = 1 is not scale-free", _L1, _first_level, "feasible_regret"),
    "weight": _Case("Theorem 1 gives the constraint little weight", _L1, _weights, "violation"),
    "scale": _Case("one G for f and g", _LARGE, _scales, "violation"),
    "centre": _Case("(27) lacks a term", _TARGET, _centres, "distance"),
    "beta": _Case("beta of Theorem 2 and of its proof", _L1, _betas, "violation"),
    "order": _Case("the bandit weight depends on u_t", _HALF_SPACE, _orders, "slope", 0.5),
    "frozen": _Case("eps of LPM as quoted", _L1, _blocks, "norm"),
}


_SCALE = 100.0  # factor of the losses in one of the two panels


def _in_units(scale: float) -> LinearConstraints:
    """Make the problem of the two panels on units, with losses and constraints multiplied by `scale`."""
    fields = {"cost": 1.0, "cost_noise": 1.0, "slope": 1.0, "margin": 0.2, "margin_spread": 0.2}
    return LinearConstraints(dim=2, domain=L2Ball(), **{name: scale * value for name, value in fields.items()})


_UNITS = {
    "units-1": Panel("losses and constraints in their units", _in_units(1.0)),
    f"units-{_SCALE:g}": Panel(f"the same in units of 1/{_SCALE:g}", _in_units(_SCALE)),
}


def _in_both_units(horizon: int, environment: Problem) -> Learners:
    """Make learners for which G, M and all constants derived from them are in the units of the losses."""
    setting = constants(environment, horizon)
    scale = float(environment.cost)
    bandit: Fields = setting | {"value_bound": 2.0 * scale}  # |f| <= ||c_t|| <= 2 on the unit ball
    plain: Fields = {name: value for name, value in bandit.items() if name != "constraint_scale"}
    return {
        "OFW-TVC": OFWTVC.theory(**setting),
        "BFW-TVC, (22) as printed": BFWTVC.theory(**bandit),
        "BFW-TVC, eta_scale = units": BFWTVC.theory(**bandit, eta_scale=scale),
        "LBPM": LBPM.theory(**plain),
    }


def _panels(horizon: int) -> Mapping[str, Panel]:
    cases = {name: Panel(c.title, c.environment, rounds=max(2, round(c.share * horizon))) for name, c in _CASES.items()}
    return cases | _UNITS


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset
    if panel.title in {units.title for units in _UNITS.values()}:
        return _in_both_units(horizon, panel.environment)
    (case,) = (case for case in _CASES.values() if case.title == panel.title)
    return case.learners(panel.horizon(horizon), case.environment)


def _weight(played: Round) -> jax.Array:
    """Return the weight of the constraint relative to the loss; 0 for learners without weights and in round 1."""
    surrogate = getattr(played.next_state, "surrogate", None)
    return jnp.zeros(()) if surrogate is None else surrogate.weight(played.next_state.queue.total)


def _distance(played: Round) -> jax.Array:
    """Return the distance of a learner's centre from the mean target, relative to its norm; 0 without a target."""
    target = getattr(played.env_state, "target", None)
    last = getattr(played.next_state, "last", None)
    if target is None or last is None:
        return jnp.zeros(())
    return points.norm(points.subtract(last.x, target)) / points.norm(target)


def _slope(played: Round) -> jax.Array:
    """Return the bandit estimate of a round along the constraint, divided by its mean for weights from Q_{t-1}.

    Here y = 0, g = <a, x> and f = 0, so the smoothed w g^+ has gradient w a / 2. With weights from Q_t the mean is 2/pi
    times the integral of exp(lam beta delta cos) cos^2 over a half circle. The result is 0 for learners other than
    BFW-TVC.
    """
    if not isinstance(played.algorithm, BFWTVC):
        return jnp.zeros(())
    estimate = points.subtract(played.next_state.block_sum, played.state.block_sum)
    normal, before = played.env_state.normal, played.state.surrogate.weight(played.state.queue.total)
    return points.inner(estimate, normal) / (0.5 * before * points.inner(normal, normal))


def _lemma_4(played: Round) -> jax.Array:
    return meters.lemma_4(played) if isinstance(played.algorithm, OFWTVC) else jnp.zeros(())


def _derive(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    """Return estimates and violation per round, regret divided by the scale of the losses, and shares of bound (41)."""
    rate = trials.get("violation") / trials.record_points
    derived = {"slope": trials.get("slope_sum") / trials.record_points, "violation_rate": rate}
    if panel.environment in {units.environment for units in _UNITS.values()}:
        derived["regret_over_scale"] = trials.get("feasible_regret") / float(panel.environment.cost)
    if isinstance(algorithm, SCOFWTVC):
        G, D, alpha = (float(a) for a in (algorithm.lipschitz, algorithm.domain.diameter, algorithm.curvature))
        scaled = float(algorithm.constraint_scale) * trials.get("violation")
        derived["share_of_41"] = scaled / theory.theorem_2(G, D, trials.horizon, alpha).violation
    return derived


@as_statistic
def _relative_difference(measured: Measurements, panel: str, first: str, second: str, metric: str) -> Estimate:
    """Estimate the mean of `(first - second) / |mean of second|` for final values of a metric."""
    _, rivals, _ = common_finals(measured.results[panel], metric, first, second)
    level = abs(float(rivals.mean()))
    estimate = mean_difference(panel, first, second, metric=metric)(measured)
    mean, low, high = (np.asarray(value / level) for value in estimate[:3])
    at = scale(estimate.interval_at, 1.0 / level)
    return estimate._replace(mean=mean, low=low, high=high, interval_at=at, companions=())


def _pair(name: str) -> tuple[str, str]:
    """Return the labels of the learners of a case: with the remedy, and without it."""
    case = _CASES[name]
    first, second = case.learners(100, case.environment)
    return first, second


@dataclasses.dataclass(frozen=True)
class Pairs:
    """One axes for each flaw of the paper: the metric that shows the flaw, with and without the remedy.

    Attributes:
      name: suffix of the file names (`Drawing.name`).
    """

    name: str = "pairs"

    def draw(self, plt: ModuleType, report: Report) -> "Figure":
        """Draw means over trials against the round, with bands of two standard errors, and return the figure."""
        figure, axes = plt.subplots(2, 4, figsize=(14.0, 6.0), layout="constrained")
        for ax, (name, case) in zip(axes.flat, _CASES.items(), strict=True):
            result = report.results[name]
            for i, (label, trials) in enumerate(result.trials.items()):
                values = trials.get(case.metric)[0]
                mean = values.mean(axis=0)
                half = 2.0 * values.std(axis=0) / np.sqrt(len(values))
                look = curves.look(i) | {"marker": ""}
                ax.plot(trials.record_points, mean, label=label, **look)
                ax.fill_between(
                    trials.record_points, mean - half, mean + half, color=look["color"], alpha=0.2, linewidth=0
                )
            ax.set(xlabel="round", ylabel=_AXES.get(case.metric, case.metric.replace("_", " ")), title=case.title)
            ax.set_ylim(-0.03 * ax.get_ylim()[1], 1.4 * ax.get_ylim()[1])  # room for the legend
            ax.spines[["top", "right"]].set_visible(False)
            ax.legend(frameon=False, fontsize="small", loc="upper left")
        return figure


_AXES = {
    "norm": r"largest $\|x_t\|$ so far",
    "distance": r"$\|y_t - \theta\| \,/\, \|\theta\|$",
    "slope": "mean estimate / gradient",
    "feasible_regret": "regret",
}


def _last_form() -> float:
    """Return the ratio of the last expression in (41) to the one before it, for the constants of the panel `beta`."""
    environment = _CASES["beta"].environment
    G, D = float(environment.lipschitz), float(environment.domain.diameter)
    return theory.theorem_2_last_form(G, D, _HORIZON, 1.0) / theory.theorem_2(G, D, _HORIZON, 1.0).violation


_REMEDY, _FLAW = ({name: _pair(name)[i] for name in _CASES} for i in (0, 1))  # labels of the learners of each case
_ALWAYS, _HORIZON, _RADIUS = share_for_all(50), 2000, 1.0 + 1e-9
_GARBER = "Garber & Kretzu 2024, as reconstructed"
_REGRET, _VIOLATION = "feasible_regret", "violation"
_BETAS = _FLAW["beta"], _REMEDY["beta"]
_FREE_OF_UNITS = {  # sentence to the learner that it is about, and its place
    "ofw-units": ("OFW-TVC", "Algorithm 1"),
    "bfw-printed-units": ("BFW-TVC, (22) as printed", "(22)"),
    "bfw-scaled-units": ("BFW-TVC, eta_scale = units", "(22)"),
    "lbpm-units": ("LBPM", _GARBER),
}
_CLAIMS = (
    *observations("remedy-in-k", share(_REMEDY["step"], of="norm", at_most=_RADIUS) > _ALWAYS, on="step",
                  says=f"with sigma = {_REMEDY['step']}, plays stay in K", place="(12)"),
    *theorems("printed-in-k", share(_FLAW["step"], of="norm", at_most=_RADIUS) > _ALWAYS, on="step",
              says="with sigma as printed, plays stay in K", place="(12)"),
    *observations("remedy-lemma-4", share(_REMEDY["step"], of="lemma_4") > _ALWAYS, on="step",
                  says="with sigma capped at 1, Lemma 4 holds in every round", place="Lemma 4"),
    *theorems("printed-lemma-4", share(_FLAW["step"], of="lemma_4") > _ALWAYS, on="step",
              says="with sigma as printed, Lemma 4 holds in every round", place="Lemma 4"),
    *observations("first-level", mean(_FLAW["g-init"], of=_REGRET) > 2.0 * mean(_REMEDY["g-init"], of=_REGRET),
                  on="g-init", says="with G~_1 = 1, regret is more than twice that with G~_1 = beta G "
                               "gamma", place="Algorithm 1, line 1"),
    *observations("light-weight", mean(_FLAW["weight"], of="weight") < 0.003, on="weight", place="Theorem 1",
                  says="with the constants of Theorem 1, the weight of the constraint is at most 0.003 times that of "
                       "the loss"),
    *observations("light-violated", mean(_FLAW["weight"], of=_VIOLATION) > 2.0 * mean(_REMEDY["weight"], of=_VIOLATION),
                  on="weight", place="Theorem 1",
                  says="with the constants of Theorem 1, the violation is more than twice that with balanced weights "
                       "(ours)"),
    *observations("scaled-enforced", mean(_REMEDY["scale"], of="violation_rate") < 0.1, on="scale", place="Theorem 2",
                  says="if g is scaled to be as steep as f, SCOFW-TVC violates the constraint by less than 0.1 per "
                       "round (l1 ball, tau = 100)"),
    *observations("flat-ignored", mean(_FLAW["scale"], of="violation_rate") > 10.0, on="scale", place="Theorem 2",
                  says="if g is 210 times flatter than f, SCOFW-TVC violates the constraint by more than 10 per round"),
    *observations("remedy-at-target", mean(_REMEDY["centre"], of="distance") < 0.2, on="centre", place="(27)",
                  says="with the linear term added to (27), SCBFW-TVC comes within 0.2 ||theta|| of the mean target "
                  "theta"),
    *observations("printed-at-target", mean(_FLAW["centre"], of="distance") < 0.2, on="centre", place="(27)",
                  says="with (27) as printed, SCBFW-TVC comes within 0.2 ||theta|| of the mean target theta"),
    *observations("printed-half-way", mean(_FLAW["centre"], of="distance").between(0.4, 0.6), on="centre", place="(27)",
                  says="with (27) as printed, SCBFW-TVC ends at a distance of about ||theta|| / 2 from the mean target "
                       "theta"),
    *(row for what, metric in (("regret", _REGRET), ("violation", _VIOLATION)) for row in observations(
        f"betas-agree/{what}",
        measure(f"relative difference in {what}", _relative_difference("beta", *_BETAS, metric), _BETAS)
        .between(-0.02, 0.02),
        says="with the beta of Theorem 2 and with that of its proof, regret and violation differ by less than 2 "
        "%", place="Theorem 2")),
    *theorems("inequality-41", share(_REMEDY["beta"], of="share_of_41") > _ALWAYS, on="beta",
              says="violation is below the expression in (41) before the last equality", place="(41)",
              cannot_fail=OUT_OF_REACH.format(most="G D T", what="violation")),
    *theorems("last-form-41", measure("ratio of the last expression in (41) to the one before "
                                      "it", exact_value(_last_form)).between(0.99, 1.01),
              says="the last expression in (41) equals the one before it", place="(41)"),
    *observations("remedy-unbiased", mean(_REMEDY["order"], of="slope").between(0.95, 1.05), on="order",
                  says="with weights from Q_{t-1} the mean of the one-point estimate equals the gradient within 5 %",
                  place="Algorithm 3, step 6"),
    *theorems("printed-unbiased", mean(_FLAW["order"], of="slope").between(0.95, 1.05), on="order",
              says="with weights from Q_t the mean of the one-point estimate equals the gradient within 5 % (lambda "
                   "beta = 2.5)",
              place="Algorithm 3, step 6"),
    *observations("quoted-frozen", share(_FLAW["frozen"], of="norm", at_most=0.0) > _ALWAYS, on="frozen",
                  says="LPM never moves with eps = 60 R^2 / sqrt(T), the value of the reconstruction", place=_GARBER),
    *observations("remedy-frozen", share(_REMEDY["frozen"], of="norm", at_most=0.0) > _ALWAYS, on="frozen",
                  says="LPM never moves with eps = 1.8 R^2 / sqrt(T) (ours)"),
    *(row for sentence, (label, place) in _FREE_OF_UNITS.items() for row in observations(
        sentence,
        measure(f"relative change of the mean of regret divided by the scale of the losses, for {quote_label(label)},",
                relative_change(f"units-{_SCALE:g}", "units-1", label, "regret_over_scale"), (label,))
        .between(-0.01, 0.01),
        says=f"{{label}} does not depend on units: if losses are multiplied by {_SCALE:g}, regret divided by "
             f"{_SCALE:g} changes by less than 1 %",
        place=place)),
)

ERRATA = STUDY.experiment(
    "errata",
    "Algorithms 1 to 4",
    title="errors and omissions of the paper, with and without the correction",
    horizon=_HORIZON,
    seeds=128,
    presets={"theory": "constants of the theorems unless stated otherwise"},
    algorithms=_learners,
    panels=_panels,
    metric="violation",
    reconstructed=RECONSTRUCTED | dict.fromkeys(_pair("frozen"), RECONSTRUCTED["LPM"]),
    tabulated=("norm", "lemma_4", "feasible_regret", "weight", "distance", "slope"),
    record_points=("log", 40),
    meters=(
        Meter("norm", lambda r: points.norm(r.decision.play), "max"),
        Meter("lemma_4", _lemma_4, "max"),
        Meter("weight", _weight, "max"),
        Meter("distance", _distance, "last"),
        Meter("slope_sum", _slope),
    ),
    derive=_derive,
    claims=_CLAIMS,
    notes=(
        "If a claim about the printed form fails, this shows the erratum; another claim tests the correction.",
        "To test the dependence on units, losses, constraints, G and M are multiplied by 100; all other constants "
        "follow from the formulas.",
        "Errata that other experiments or unit tests show are not tested here; the last column of the table of errata "
        "names their commands. Theorems 3 and 4 have different constants in their statements and proofs, between "
        "which no run can decide.",
        "Equation (27) is tested with two-point estimates and our own constants: blocks of sqrt(T) rounds, and sqrt(T) "
        "Frank-Wolfe steps at the end of each. For LPM, R is the outer radius of K.",
    ),
    figures=(Pairs(),),
)
