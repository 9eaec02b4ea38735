"""Setting of the figures on matrix completion and of the study on small synthetic problems: learners and tuning.

The figures are in the section "Experiments" of Wang, Wan & Zhang, "Revisiting Projection-Free Online Learning with
Time-Varying Constraints" (AAAI 2025).
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandits.algorithms.coco import multipliers as table
from jaxbandits.analysis.trials import Trials
from jaxbandits.base.pytree import Fields
from jaxbandits.coco import BFWTVC, LBPM, LPM, OFWTVC, OPDP, SCBFWTVC, SCOFWTVC, MatrixCompletion
from jaxbandits.diagnostics.coco import diagnostic, oracle_residual
from jaxbandits.domains import NuclearBall, points
from jaxbandits.domains.points import Point
from jaxbandits.environments.datasets.movielens import load_movielens
from jaxbandits.environments.datasets.ratings import densest_part, low_rank_ratings
from jaxbandits.reproduction.engine import (
    Curves,
    Learner,
    Learners,
    Multipliers,
    MultiplierTable,
    Panel,
    Problem,
    Study,
    TunedLearner,
    Tuning,
)
from jaxbandits.simulation import Meter
from jaxbandits.theory import coco as theory

PAPER = "Wang, Wan & Zhang, AAAI 2025"
EPS = 0.018  # accuracy of LPM's projections in units of R^2 T^(-1/2); with 60, as in the theory, LPM does not move
MOST_CALLS = 100  # largest number of oracle calls at the end of a block
RECONSTRUCTED = {  # mark of the claims that name a learner, by label
    "LPM": "LPM is reconstructed, with the queue of drift-plus-penalty as multiplier",
    "LBPM": "LBPM is reconstructed, with the queue of drift-plus-penalty as multiplier",
    "OPDP": "OPDP is reconstructed",
}
_OPEN = "depends on settings that the paper does not state (see the notes)"
REMARKS = {  # by panel
    **dict.fromkeys(
        ("figure", "vertex"), f"{_OPEN}; the constraints cannot be learned, so only a smaller matrix violates them less"
    ),
    "budget": _OPEN,
}
DATA_SHAPE = (256, 256)  # most active users and most rated films of MovieLens-100k
DATA_BATCH = 32  # ratings per round on these data; each is used once, in about 1,000 rounds
# Weights of violation in the score by which learners are tuned. The figure's constraints cannot be learned: with the
# weight 1 they would make 0 the best decision of some learners, which then never leave 0.
VIOLATION_WEIGHT = {"figure": 0.1, "budget": 1.0}
DELTA = 0.3  # length of a perturbation, divided by the inner radius
PRESETS = {
    "tuned": "two factors per learner, tuned by the same protocol on loss and violation, on separate seeds (jaxbandits "
    "tune coco)",
    "theory": "every constant as the papers state it, except G~_1 = beta G gamma, and with g scaled to the Lipschitz "
    "constant of f; the multipliers of LPM and LBPM are damped and too small to matter",
}


def full_information(
    environment: MatrixCompletion, horizon: int, multipliers: Mapping[str, Multipliers], start: Point = None
) -> dict[str, Any]:
    """Make the learners of Figure 1, by label, with multiplied constants.

    Args:
      environment: problem on which they play.
      horizon: number of rounds T.
      multipliers: mapping from a label to the multipliers of its constants (`SCALED`).
      start: first decision x_1; None: 0.
    """
    common, scale, bound = _common_constants(environment, horizon, start)
    domain, share = common["domain"], environment.batch / len(environment.observed)
    ofw, scofw, lpm, opdp = (multipliers[label] for label in FULL)
    gamma, weight = 0.5 * horizon**-0.75, opdp["dual"]
    curvature = scofw["curvature"] * share  # the mean curvature of the observed entries
    return {
        "OFW-TVC": OFWTVC.practical(
            **common, constraint_scale=scale, eta_scale=10.0 * ofw["eta"], gamma=gamma * ofw["gamma"]
        ),
        "SCOFW-TVC": SCOFWTVC.theory(
            **common,
            constraint_scale=scale,
            curvature=curvature,
            gamma=scofw["gamma"] * bound / (bound + curvature * domain.diameter),
        ),
        "LPM": LPM.queue(
            **common,
            eta=lpm["eta"] * environment.radius / bound * horizon**-0.75,
            eps=EPS * environment.radius**2 * horizon**-0.5,
            dual_step=lpm["dual"] * horizon**-0.75 / (bound * environment.radius),
            most_calls=MOST_CALLS,
        ),
        "OPDP": OPDP(  # the multiplier converges to about g / damping, so scale the damping as well as the step
            **common,
            hard=True,
            eta_scale=opdp["eta"],
            dual_step=weight * horizon ** (-5 / 6) / (bound * domain.diameter),
            damping=bound * domain.diameter * horizon ** (-1 / 6) / weight,
        ),
    }


def full_information_theory(environment: MatrixCompletion, horizon: int, start: Point = None) -> Fields:
    """Make the learners of Figure 1 with the constants of their theory; arguments as for `full_information`."""
    common, scale, _ = _common_constants(environment, horizon, start)
    share = environment.batch / len(environment.observed)
    return {
        "OFW-TVC": OFWTVC.theory(**common, constraint_scale=scale),
        "SCOFW-TVC": SCOFWTVC.theory(**common, constraint_scale=scale, curvature=share),
        "LPM": LPM.theory(**common),
        "OPDP": OPDP.theory(**common),
    }


def bandit(
    environment: MatrixCompletion, horizon: int, multipliers: Mapping[str, Multipliers], start: Point = None
) -> dict[str, Any]:
    """Make the learners of Figure 2, by label, with multiplied constants and with delta = 0.3 r.

    Here r is the inner radius of the ball. Arguments are as for `full_information`.
    """
    common, scale, bound = _common_constants(environment, horizon, start)
    domain, size = common["domain"], math.prod(environment.dim)
    inner, values = float(domain.inner_radius(environment.dim)), float(environment.value_bound)
    common |= {"delta": DELTA * inner}
    share = environment.batch / len(environment.observed)
    bfw, scbfw, lbpm = (multipliers[label] for label in BANDIT)
    return {
        "BFW-TVC": BFWTVC.practical(
            **common,
            constraint_scale=scale,
            value_bound=values,
            eta_scale=bfw["eta"],
            gamma=0.5 * horizon**-0.75 * bfw["gamma"],
        ),
        "SCBFW-TVC": SCBFWTVC.practical(
            **common,
            constraint_scale=scale,
            curvature=scbfw["curvature"] * share,
            gamma=2.0 * horizon**0.5 * scbfw["gamma"],
        ),
        "LBPM": LBPM(
            **common,
            value_bound=values,
            eta=lbpm["eta"] * environment.radius * (size * values) ** -0.5 * horizon**-0.75,
            dual_step=lbpm["dual"] * horizon**-0.75 / (bound * environment.radius),
            damping=0.0,
            most_calls=MOST_CALLS,
        ),
    }


def bandit_theory(environment: MatrixCompletion, horizon: int, start: Point = None) -> Fields:
    """Make the learners of Figure 2 with the constants of their theory; arguments as for `full_information`."""
    common, scale, _ = _common_constants(environment, horizon, start)
    common |= {"delta": DELTA * float(common["domain"].inner_radius(environment.dim))}
    values, share = float(environment.value_bound), environment.batch / len(environment.observed)
    return {
        "BFW-TVC": BFWTVC.theory(**common, constraint_scale=scale, value_bound=values),
        "SCBFW-TVC": SCBFWTVC.theory(**common, constraint_scale=scale, curvature=share),
        "LBPM": LBPM.theory(**common, value_bound=values),
    }


def _common_constants(environment: MatrixCompletion, horizon: int, start: Point) -> tuple[dict[str, Any], float, float]:
    """Return common constants, the factor that gives g the Lipschitz constant G of f, and G itself."""
    bound, steep = float(environment.lipschitz), environment.constraint_lipschitz
    domain = NuclearBall(radius=float(environment.radius))
    common = {"dim": environment.dim, "horizon": horizon, "domain": domain, "lipschitz": bound}
    common |= {} if start is None else {"start": start}
    return common, bound / steep if steep else 1.0, bound


def score(played: Any) -> Any:
    """Return the score of a round by which learners are tuned: its relative loss plus its weighted relative violation.

    The loss is divided by the mean loss of the decision 0, and the violation by that of a matrix filled with ratings.
    These two decisions need no learning: the first has the largest loss, and the second the largest violation.
    """
    outcome, environment = played.outcome, played.environment
    violation = outcome.violation / environment.full_violation
    return outcome.loss / environment.mean_zero_loss + VIOLATION_WEIGHT[environment.constraint] * violation


METERS = (
    Meter("score", score),
    Meter("oracle_calls", diagnostic("oracle_calls")),
    Meter("norm", lambda played: points.norm(played.decision.play), unit="||X||"),
    Meter("oracle_residual", oracle_residual, "max", unit="||C'u - s v|| / s"),
)


TABULATED = ("violation", "relative_loss", "relative_violation", "oracle_calls", "oracle_residual")

# With "figure" hardly any point except 0 satisfies all constraints of a run, so regret is against the whole ball.
_COMPARATOR = {"figure": "domain", "budget": "feasible"}

FULL, BANDIT = ("OFW-TVC", "SCOFW-TVC", "LPM", "OPDP"), ("BFW-TVC", "SCBFW-TVC", "LBPM")


def stand_in(constraint: str) -> MatrixCompletion:
    """Make a small version of the problem of Figure 1: 20 x 26 of rank 3, 40 % observed, ten entries per round."""
    return MatrixCompletion.stand_in(constraint=constraint, comparator=_COMPARATOR[constraint])


def bandit_stand_in(constraint: str) -> MatrixCompletion:
    """Make a small version of the problem of Figure 2: 5 x 6 of rank 2, 40 % observed, four entries per round."""
    ratings = low_rank_ratings((5, 6), 12, rank=2, scale=(0.5, 4.0), step=0.5)
    radius = 2.27 * math.sqrt(30.0 * float(np.mean(ratings.ratings**2)))
    return MatrixCompletion.from_ratings(
        ratings,
        batch=4,
        order="fresh",
        radius=radius,
        constraint=constraint,
        comparator=_COMPARATOR[constraint],
    )


def on_movielens(path: Path) -> Callable[[str], MatrixCompletion]:
    """Return a function from a constraint to the problem on the densest part of the user's MovieLens-100k data.

    As in the small problem, the radius tau is 2.27 times the Frobenius norm of a matrix whose entries all have the root
    mean square rating.

    Args:
      path: file or directory of the data.
    """
    ratings = densest_part(load_movielens(path), *DATA_SHAPE)
    radius = 2.27 * math.sqrt(float(np.mean(ratings.ratings**2)) * math.prod(DATA_SHAPE))
    settings = {"batch": DATA_BATCH, "radius": radius}
    return lambda constraint: MatrixCompletion.from_ratings(ratings, constraint=constraint, **settings)


def problem(figure: str, panel: str, on_data: bool) -> str:
    """Return the name of a problem in the table of multipliers.

    Args:
      figure: "fig1" or "fig2".
      panel: name of the panel.
      on_data: True for the problem on the user's data, False for the small problem.
    """
    return figure + ("-data" if on_data else "") + ("" if panel == "figure" else f"-{panel}")


CONSTRAINTS = {"figure": "figure", "vertex": "figure", "budget": "budget"}  # constraint of each panel
TITLES = {
    "figure": "the paper's constraints, P_t uniform on [-1, 1]; x_1 = 0",
    "vertex": "the paper's constraints; x_1 is a random vertex",
    "budget": "a budget that can be learned (ours); x_1 = 0",
}


def panels(environment_of: Callable[[str], MatrixCompletion]) -> dict[str, Panel]:
    """Make three panels: with the paper's constraints from x_1 = 0 and from a vertex, and with a budget.

    Args:
      environment_of: function from the name of a constraint ("figure" or "budget") to the environment.
    """
    return {name: Panel(TITLES[name], environment_of(constraint)) for name, constraint in CONSTRAINTS.items()}


def learners(figure: str, on_data: bool, preset: str, horizon: int, panel: Panel) -> Learners:
    """Make the learners of Figure 1 or 2, by label, for one of the panels that `panels` makes.

    Args:
      figure: "fig1" or "fig2".
      on_data: True if the panel is on the user's data, whose multipliers are in other entries of the table.
      preset: name of a preset in `PRESETS`.
      horizon: number of rounds T.
      panel: panel in which they play.
    """
    environment, full = panel.environment, figure == "fig1"
    name = next(name for name, title in TITLES.items() if title == panel.title)
    start = _start(figure, name, environment)
    if preset == "theory":
        return (full_information_theory if full else bandit_theory)(environment, horizon, start)
    name = problem(figure, name, on_data)
    multipliers = {label: table.MULTIPLIERS[f"{name}/{label}"] for label in (FULL if full else BANDIT)}
    return (full_information if full else bandit)(environment, horizon, multipliers, start)


def _start(figure: str, panel: str, environment: MatrixCompletion) -> np.ndarray | None:
    """Return x_1 of a panel, or None for 0; with bandit feedback a vertex of the shrunk ball (1 - DELTA) K."""
    if panel != "vertex":
        return None
    return random_vertex(environment) * (1.0 if figure == "fig1" else 1.0 - DELTA)


def random_vertex(environment: MatrixCompletion) -> np.ndarray:
    """Return a random vertex `[m, n]` of the ball, tau u v' for unit vectors u and v; it is the same in all trials."""
    rng = np.random.default_rng(0)
    left, right = (side / np.linalg.norm(side) for side in map(rng.standard_normal, environment.dim))
    return float(environment.radius) * np.outer(left, right)


NOTES = (
    "The paper does not state the order of the data, the horizon, the start x_1 (here 0, or a random vertex that is "
    "the same for all trials), G (here a valid bound) or the curvature (here the share of the observed entries that a "
    "round contains, since f_t itself is not strongly convex). In its text a round has one entry (i, j), but the loss "
    "is summed over all observed entries O; here the loss of a round is the sum over a batch of entries.",
    "The radius tau of the ball is 2.27 times the Frobenius norm of a matrix whose entries all have the root mean "
    "square rating; for all of MovieLens-100k the paper's radius 10^4 is about 2.1 times this norm.",
    "Learners whose name ends in TVC receive the constraint g_t multiplied by a factor that gives it the Lipschitz "
    "constant of the loss f_t; the reported violation is that of the unscaled g_t.",
    "Two constants of each learner (such as its step size) are multiplied by factors, which are tuned in each panel "
    "over all rounds on the paper's grid (powers of 10 from 1e-5 to 1e5); for the real data they are tuned on those "
    "data (jaxbandits tune coco). First every other value of the grid is run on one seed, then the neighbours of the "
    "best three points, and then the best three points on 4 seeds, which no verdict uses. The point with the smallest "
    "score is chosen. The score is the loss divided by that of the decision 0, plus a weight times the violation "
    "divided by that of a matrix filled with ratings. The weight is 0.1 for the figure's constraints (with 1, the best "
    "decision of some learners would be 0) and 1 for the budget. The table in "
    "jaxbandits/algorithms/coco/multipliers.py records the evidence for each choice and marks choices at an edge of "
    "the grid.",
    "On the stand-in, regret is against the best point of the ball, or under the budget against the best point within "
    "the budget. With this tau some point of the ball fits every observed entry, and some point within the budget fits "
    "them up to 0.2 % of the loss of the decision 0, so regret equals the loss up to this difference. On the real "
    "data, regret is not computed. On the stand-in, practically only the decision 0 satisfies all of the figure's "
    "constraints (T > 2 m n); the regret against it is the loss minus zero_loss.",
    "The metric zero_loss is the loss of the decision X = 0, whose violation is 0; relative_violation is the violation "
    "divided by the sum of ||X_t||.",
    "The figure's constraints are symmetric and independent of X_t. The expected violation of a round is therefore "
    "0.23 ||X_t|| for every learner, and only smaller decisions reduce it.",
)


def shares(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    """Return the metrics `relative_loss`, loss divided by that of the decision 0, and `relative_violation`.

    The latter is the violation divided by the sum of ||X_t||.

    In the panel with a budget, the metric `regret` is replaced by the regret against the best point within the budget.
    """
    del algorithm, panel
    norm = trials.get("norm")
    further = {
        "relative_loss": trials.get("loss") / trials.get("zero_loss"),
        "relative_violation": trials.get("violation") / np.where(norm > 0.0, norm, 1.0),
    }
    return further | ({"regret": trials.get("feasible_regret")} if "feasible_regret" in trials.metrics else {})


def figures(regret: bool) -> tuple[Curves, ...]:
    """Make figures of loss and violation against rounds and against oracle calls.

    Args:
      regret: True to make figures of regret as well.
    """
    drawn = ("loss", "violation", "regret") if regret else ("loss", "violation")
    zero = {"loss": ("zero_loss", "X = 0")}
    by_round = (
        Curves(metric=metric, reference=zero.get(metric), name="curves" if metric == "loss" else metric)
        for metric in drawn
    )
    return (*by_round, *(Curves(metric=metric, x="oracle_calls", name=f"{metric}-calls") for metric in drawn))


def from_file(
    figure: str, title: str, problem_of: Callable[[Path], Callable[[str], MatrixCompletion]]
) -> Callable[[Path], Mapping[str, Any]]:
    """Return a function from a data file to the fields of a figure on these data, for which regret is not computed.

    Args:
      figure: "fig1" or "fig2".
      title: title of the figure on the data.
      problem_of: function from a data file to a function from a constraint to the environment.
    """

    def fields(path: Path) -> Mapping[str, Any]:
        on_data = panels(problem_of(path))
        return {
            "title": title,
            "algorithms": functools.partial(learners, figure, True),
            "panels": lambda horizon: on_data,
            "horizon": on_data["figure"].environment.rounds_of_a_pass,
            "tabulated": TABULATED,
            "figures": figures(regret=False),
        }

    return fields


FIGURES = Study(
    "coco",
    PAPER,
    presets=PRESETS,
    reconstructed=RECONSTRUCTED,
    guessed="only part of the data is used, and the horizon, the batch, x_1 and G are guessed",
    metric="loss",
    tabulated=("regret", *TABULATED),
    meters=METERS,
    derive=shares,
    record_points=25,
    figures=figures(regret=True),
    notes=NOTES,
)

# Small synthetic problems -------------------------------------------------------------------------------------------

_OURS = "The paper's only experiments are its Figures 1 and 2; the instances, sizes and thresholds here are ours."
STUDY = Study("coco", PAPER, float64=True, reconstructed=RECONSTRUCTED, notes=(_OURS,))
OWN_STUDY = Study("coco", f"ours, on {PAPER}", reconstructed=RECONSTRUCTED, notes=(_OURS,))


def constants(environment: Problem, horizon: int, scaled: bool = True) -> Fields:
    """Return common fields of learners: shape, horizon, domain and the Lipschitz constant G of the losses.

    Args:
      environment: problem on which they play.
      horizon: number of rounds.
      scaled: True to add the factor with which the constraints have the Lipschitz constant G as well.
    """
    bound, steep = float(environment.lipschitz), float(environment.slope * (1.0 + environment.slope_noise))
    fields = {"dim": environment.dim, "horizon": horizon, "domain": environment.domain, "lipschitz": bound}
    return fields | ({"constraint_scale": bound / steep} if scaled else {})


def shares_of_bounds(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    """Return the metrics `regret_share` and `violation_share`: regret and violation, divided by their bounds.

    The bounds are those for the whole run, of Theorem 2 for SCOFW-TVC and of Theorem 1 for other learners.
    """
    del panel
    G, D = float(algorithm.lipschitz), float(algorithm.domain.diameter)
    if isinstance(algorithm, SCOFWTVC):
        bounds = theory.theorem_2(G, D, trials.horizon, float(algorithm.curvature))
    else:
        bounds = theory.theorem_1(G, D, trials.horizon)
    scaled = float(getattr(algorithm, "constraint_scale", 1.0)) * trials.get("violation")
    return {
        "regret_share": trials.get("feasible_regret") / bounds.regret,
        "violation_share": scaled / bounds.violation,
    }


# Tuning --------------------------------------------------------------------------------------------------------------

SCALED = {  # constants that have multipliers in `full_information` and `bandit`, by class
    OFWTVC: ("eta", "gamma"),
    SCOFWTVC: ("curvature", "gamma"),
    LPM: ("eta", "dual"),
    OPDP: ("eta", "dual"),
    BFWTVC: ("eta", "gamma"),
    SCBFWTVC: ("curvature", "gamma"),
    LBPM: ("eta", "dual"),
}
DECADES = tuple(10.0**k for k in range(-5, 6))  # the paper's range
_ONES = dict.fromkeys(itertools.chain(*SCALED.values()), 1.0)
_ROUNDS = {"fig1": 1500, "fig2": 4096}  # rounds of the small problems


def plain_multipliers(labels: Sequence[str]) -> dict[str, Multipliers]:
    """Return a mapping from each label to multipliers that are all 1."""
    return dict.fromkeys(labels, _ONES)


def _tuned_learners(figure: str, path: Path | None = None) -> dict[str, TunedLearner]:
    """Return the learners of a figure in every panel, keyed by problem and label; `path` None: the small problem."""
    make, labels = (full_information, FULL) if figure == "fig1" else (bandit, BANDIT)

    @functools.cache
    def problem_of(name: str) -> tuple[dict[str, Panel], int]:
        if path is None:
            environment = (stand_in if figure == "fig1" else bandit_stand_in)(CONSTRAINTS[name])
            return {name: Panel(figure, dataclasses.replace(environment, comparator="none"))}, _ROUNDS[figure]
        environment = on_movielens(path)(CONSTRAINTS[name])
        return {name: Panel(figure, environment)}, environment.rounds_of_a_pass

    def learner(name: str, label: str) -> TunedLearner:
        def build(panel: Panel, horizon: int, multipliers: Multipliers) -> Learner:
            own = {label: {**_ONES, **multipliers}}
            start = _start(figure, name, panel.environment)
            return make(panel.environment, horizon, plain_multipliers(labels) | own, start)[label]

        named = label if path is None else f"{label} on data"
        return TunedLearner(named, build, functools.partial(problem_of, name))

    pairs = itertools.product(CONSTRAINTS, labels)
    return {f"{problem(figure, name, path is not None)}/{label}": learner(name, label) for name, label in pairs}


TABLE = MultiplierTable(
    table,
    Tuning(
        presets=(),
        grid=lambda learner: dict.fromkeys(SCALED[type(learner)], DECADES),
        metric="score",
        seeds=4,
        screening=1,
    ),
    _tuned_learners("fig1") | _tuned_learners("fig2"),
    from_file=lambda path: _tuned_learners("fig1", path),
    options={"meters": METERS[:1]},
    preset="tuned",
)
