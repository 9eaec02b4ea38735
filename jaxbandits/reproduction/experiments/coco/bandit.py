"""Theorems 3 and 4 of Wang et al. (2025): bandit feedback, with a separate run for every horizon."""

from collections.abc import Iterable, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.analysis.trials import Trials
from jaxbandits.coco import BFWTVC, SCBFWTVC, QuadraticConstraints
from jaxbandits.domains import L2Ball, points
from jaxbandits.reproduction.engine import Claim, Learner, Learners, Panel, Problem
from jaxbandits.reproduction.experiments.coco.rates import Rates
from jaxbandits.reproduction.experiments.coco.setting import STUDY, constants
from jaxbandits.reproduction.sentences import (
    OUT_OF_REACH,
    exponent_of,
    growth_over,
    mean,
    observations,
    share,
    share_for_all,
    slug,
    theorems,
)
from jaxbandits.simulation import Meter, Round
from jaxbandits.theory import coco as theory

HORIZON = 10**5
_SHARES = {f"T-{k}": 10.0 ** (k / 2.0 - 2.0) for k in range(5)}  # 10^3, 10^3.5, ..., 10^5 for a horizon of 10^5
_LAST = "T-4"
_ALWAYS = share_for_all(50)
_CONSTANT = 0.9  # c over r, the learners' default


def _problem() -> QuadraticConstraints:
    """Make the problem: the unit ball of R^2 with a fixed half-space, and quadratic losses around a noisy centre."""
    return QuadraticConstraints(dim=2, domain=L2Ball(), slope_noise=0.0, margin_spread=0.0)


def _panels(horizon: int) -> Mapping[str, Panel]:
    rounds = {name: max(16, round(part * horizon)) for name, part in _SHARES.items()}
    return {name: Panel(f"T = {t:,}", _problem(), x=float(t), rounds=t) for name, t in rounds.items()}


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset
    environment: Problem = panel.environment
    setting = constants(environment, panel.horizon(horizon))
    valued = {**setting, "value_bound": float(environment.value_bound)}
    return {
        "BFW-TVC": BFWTVC.theory(**valued),
        "BFW-TVC, balanced": BFWTVC.practical(**valued),
        "SCBFW-TVC": SCBFWTVC.theory(**setting, curvature=float(environment.curvature)),
    }


def bounds(label: str, rounds: float) -> theory.Bounds:
    """Return the bounds on regret and violation after `rounds` rounds of this problem.

    Args:
      label: label of the learner: "SCBFW-TVC" for the bounds of Theorem 4, any other for those of Theorem 3.
      rounds: number of rounds.
    """
    environment: Problem = _problem()
    r = environment.domain.inner_radius(environment.dim)
    common = {"dim": environment.dim, "M": float(environment.value_bound), "r": float(r), "c": _CONSTANT * float(r)}
    problem = float(environment.lipschitz), float(environment.domain.diameter), rounds
    if label == "SCBFW-TVC":
        return theory.theorem_4(*problem, float(environment.curvature), **common)
    return theory.theorem_3(*problem, **common)


def _shares(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    """Return regret and violation as shares of their bounds for the whole run; violation is in the learner's scale."""
    del panel
    found = bounds("SCBFW-TVC" if isinstance(algorithm, SCBFWTVC) else "BFW-TVC", trials.horizon)
    scale = float(algorithm.constraint_scale)
    return {
        "regret_share": trials.get("feasible_regret") / found.regret,
        "violation_share": scale * trials.get("violation") / found.violation,
    }


def _is_unfinished(r: Round) -> jax.Array:
    """Return 1 if a block of Frank-Wolfe ended at its cap with a gap above eps; 0 for SCBFW-TVC, which has no cap."""
    return 1.0 * r.next_state.unfinished if isinstance(r.algorithm, BFWTVC) else 0.0 * r.outcome.loss


def _of_theorem(theorem: str, label: str, growth_label: str) -> Iterable[Claim]:
    """Make the claims that `label` is within a theorem's bounds, and that `growth_label` grows no faster than they."""
    within = {"regret": mean(label, of="regret_share") < 1.0, "violation": share(label, of="violation_share") > _ALWAYS}
    horizons = [part * HORIZON for part in _SHARES.values()]
    for what, metric in (("regret", "feasible_regret"), ("violation", "violation")):
        yield from theorems(
            f"{slug(theorem)}-{what}",
            within[what],
            on=_LAST,
            says=f"the {'expected ' * (what == 'regret')}{what} of {{label}} is within the bound of {theorem}, with "
            f"the constants of its proof",
            place=theorem,
            cannot_fail=OUT_OF_REACH.format(most="G D T", what=what),
        )
        law = exponent_of(lambda t, what=what: getattr(bounds(label, t), what), horizons)
        yield from observations(
            f"growth-{slug(theorem)}-{what}",
            growth_over(_SHARES, "T", growth_label, of=metric) < law,
            says=f"the {what} of {{label}} grows no faster than the bound of {theorem}, including logarithms and "
            "constants",
            place=f"{theorem} (an upper bound)",
            least=40,
        )


BANDIT = STUDY.experiment(
    "bandit",
    "Theorems 3 and 4",
    title="growth of regret and violation with the horizon under bandit feedback: unit ball of R^2, quadratic losses",
    horizon=HORIZON,
    seeds=128,
    presets={
        "theory": "constants of the theorems, with g scaled to the Lipschitz constant of f; the constants of "
        "the learner labelled 'balanced' (ours) are set by hand"
    },
    algorithms=_learners,
    panels=_panels,
    metric="feasible_regret",
    tabulated=("violation", "regret_share", "violation_share"),
    meters=(
        Meter("norm", lambda r: points.norm(r.decision.play), "max"),
        Meter("unfinished", lambda r: jnp.asarray(_is_unfinished(r)), "max"),
    ),
    derive=_shares,
    record_points=2,
    claims=(
        *theorems(
            "plays-in-k",
            share("BFW-TVC", "BFW-TVC, balanced", "SCBFW-TVC", of="norm", at_most=1.0 + 1e-9) > _ALWAYS,
            on=_SHARES.keys(),
            says="plays stay in K, although the decision y_m of a block is perturbed by delta u_t",
            place="Algorithms 3 and 4, (20)",
        ),
        *observations(
            "blocks-end",
            share("BFW-TVC", "BFW-TVC, balanced", of="unfinished", at_most=0.0) > _ALWAYS,
            on=_SHARES.keys(),
            says="every block reaches a Frank-Wolfe gap of at most eps within 3.375 sqrt(T) steps",
            place="Algorithm 3, lines 14 to 18 (Jaggi's bound)",
        ),
        *_of_theorem("Theorem 3", "BFW-TVC", growth_label="BFW-TVC, balanced"),
        *_of_theorem("Theorem 4", "SCBFW-TVC", growth_label="SCBFW-TVC"),
    ),
    notes=(
        "Both theorems are tested with the constants of their proofs. For Theorem 4 this means beta = 1, because the "
        "constants in its statement contradict each other. The constant C_3 in the proof of Theorem 3 is C_2 in its "
        "statement. At these T all bounds exceed G D T, the largest possible regret and violation.",
        "Regret is against the best point of K that satisfies the constraint; this point is known exactly. The regret "
        "and violation of 'BFW-TVC, balanced' are divided by the bounds of Theorem 3 in the tables, although the "
        "theorem does not cover this learner. The metrics regret_share and violation_share are regret and violation, "
        "divided by their bounds.",
        "The rows about growth for Theorem 3 are about 'BFW-TVC, balanced', not about BFW-TVC, which has the theorem's "
        "constants. SCBFW-TVC violates the constraint and has a negative mean regret at every T. A negative mean has "
        "no growth exponent, so the row about the growth of its regret stays open.",
    ),
    figures=(Rates({"feasible_regret": (0.75, 2.0 / 3.0), "violation": (0.75, 5.0 / 6.0)}),),
)
