"""Cases of the speed table: their sizes, and each problem for the simulator and for NumPy."""

from typing import Any, NamedTuple

import numpy as np

from benchmarks.speed import (
    numpy_armed,
    numpy_constrained,
    numpy_contextual,
    numpy_dro,
    numpy_glm,
    numpy_loops,
    numpy_online,
    numpy_structured,
)

TRIALS = (1, 16, 256, 1024, 4096)


class Case(NamedTuple):
    """One algorithm at one size."""

    algorithm: str
    dim: int  # 0: arms without features
    n_arms: int  # 0: online convex optimisation, or groups
    horizon: int  # rounds of the simulator's run with 256 trials or more
    numpy_rounds: int  # rounds of the single NumPy loop
    numpy_trial_rounds: int = 200_000  # rounds of NumPy over seeds, all seeds together
    fresh_arms: bool = False  # new arms each round
    groups: int = 0  # 0: no group DRO
    size: str = ""  # size of a structured problem in the name of the case; `numpy_structured` has the numbers

    @property
    def name(self) -> str:
        if self.size:
            return f"{self.algorithm} {self.size}"
        arms = f" K={self.n_arms}" if self.n_arms else f" m={self.groups}" if self.groups else ""
        dim = f" d={self.dim}" if self.dim else ""
        return f"{self.algorithm}{dim}{arms}" + (" fresh" if self.fresh_arms else "")

    @property
    def metric(self) -> str:
        """Name of the metric that simulator and NumPy sum."""
        return "loss" if self.groups else "regret"


CASES = (
    Case("ucb1", 0, 10, 4000, 50_000, 1_000_000),
    Case("ucb1", 0, 100, 1000, 20_000, 400_000),
    Case("kl_ucb", 0, 10, 2000, 5000),
    Case("thompson_beta", 0, 10, 2000, 20_000),
    Case("tsallis_inf", 0, 10, 4000, 5000),
    Case("cascade_ucb1", 0, 16, 2000, 10_000, size="L=16 m=4"),
    Case("cascade_kl_ucb", 0, 16, 1000, 5000, size="L=16 m=4"),
    Case("mc_top_m", 0, 9, 1000, 3000, size="K=9 P=6"),
    Case("double_ts", 0, 6, 1000, 5000, size="K=6"),
    Case("glr", 0, 3, 5000, 5000, 1_280_000, size="K=3"),  # as long as its history
    Case("disjoint_lin_ucb", 5, 10, 2000, 10_000),
    Case("hvt_ucb", 2, 50, 4000, 20_000),
    Case("hvt_ucb", 10, 20, 1000, 10_000),
    Case("oful", 2, 50, 4000, 30_000),
    Case("oful", 5, 20, 3000, 30_000),
    Case("oful", 10, 20, 1000, 20_000),
    Case("crtm", 2, 50, 4000, 20_000),
    Case("crmm", 2, 50, 4000, 200_000, 1_000_000),
    Case("menu", 2, 50, 4000, 50_000, 500_000),
    Case("glb_omd", 2, 20, 4000, 20_000),
    Case("glb_omd", 5, 20, 1000, 20_000, fresh_arms=True),
    Case("oons", 2, 0, 8000, 10_000, 100_000),
    Case("oons", 5, 0, 4000, 10_000, 100_000),
    Case("ca_oons", 2, 0, 300, 1500, 20_000),  # N = 14 base learners, as for T = 2^14
    Case("cla_oons", 2, 0, 8000, 10_000, 100_000),
    Case("cla_oons", 5, 0, 4000, 10_000, 100_000),
    *(
        Case(algorithm, 10, 0, 8000, 50_000, 1_000_000)
        for algorithm in (
            "ogd", "adagrad_norm", "kt_betting", "parameter_free_md", "clipped_parameter_free_md", "scale_free_ftrl",
            "dog", "dowg", "optimistic_omd", "optimistic_ftrl_2022", "optimistic_ftrl_2023",
        )
    ),
    Case("ofw_tvc", 10, 0, 8000, 20_000),
    Case("smd", 10, 0, 2000, 20_000, groups=10),
    Case("online", 10, 0, 8000, 20_000, groups=10),
)  # fmt: skip
HORIZON_IN_FORMULAS = 18_000
NOISE_DF, NOISE_SCALE = 2.1, 1.31


def named(parts: list[str] | None) -> tuple[Case, ...]:
    """Return the cases whose names contain one of `parts`; all cases for None."""
    return CASES if parts is None else tuple(case for case in CASES if any(part in case.name for part in parts))


def build(case: Case) -> tuple[Any, Any]:
    """Return the algorithm and the environment of a case."""
    if case.size:
        return numpy_structured.build(case.algorithm)
    if not case.dim:
        return _armed(case)
    if case.algorithm == "disjoint_lin_ucb":
        return _contextual(case)
    if case.algorithm == "ofw_tvc":
        return _constrained(case)
    if case.groups:
        return _grouped(case)
    if not case.n_arms:
        return _online(case)
    return _generalized_linear(case) if case.algorithm == "glb_omd" else _linear(case)


def numpy_regret(case: Case, rounds: int, rng: np.random.Generator, seeds: int | None = None) -> Any:
    """Return the metric of the NumPy loop, or of the NumPy version over `seeds`: `[S]`, or for OCO the mean."""
    which, many = (0, ()) if seeds is None else (1, (seeds,))
    if case.size:
        return numpy_structured.regret(case.algorithm, rounds, rng, *many)
    if not case.dim:
        return numpy_armed.regret(case.algorithm, case.n_arms, rounds, rng, *many)
    if case.algorithm == "disjoint_lin_ucb":
        return numpy_contextual.regret(case.dim, case.n_arms, rounds, rng, *many)
    if case.groups:
        run = (numpy_dro.ONE, numpy_dro.MANY)[which][case.algorithm]
        return run(case.dim, case.groups, rounds, HORIZON_IN_FORMULAS, rng, *many)
    if case.algorithm == "ofw_tvc":
        run = (numpy_constrained.regret_one, numpy_constrained.regret_many)[which]
        return run(case.dim, rounds, HORIZON_IN_FORMULAS, rng, *many)
    if not case.n_arms:
        run = (numpy_online.online_one, numpy_online.online_many)[which]
        return run(case.algorithm, case.dim, rounds, rng, *many)
    if case.algorithm == "glb_omd":
        run = (numpy_glm.glb_omd_one, numpy_glm.glb_omd_many)[which]
        return run(case.dim, case.n_arms, rounds, case.fresh_arms, rng, *many)
    run = (numpy_loops.ONE, numpy_loops.MANY)[which][case.algorithm]
    return run(case.dim, case.n_arms, rounds, HORIZON_IN_FORMULAS, NOISE_SCALE, NOISE_DF, rng, *many)


def _armed(case: Case) -> tuple[Any, Any]:
    """Build coins, one of which is better than the others."""
    from jaxbandits.algorithms import ALGORITHMS
    from jaxbandits.armed import BernoulliArms

    algorithm = ALGORITHMS[f"armed/{case.algorithm}"].cls
    return algorithm(n_arms=case.n_arms), BernoulliArms.from_means(numpy_armed.means(case.n_arms))


def _contextual(case: Case) -> tuple[Any, Any]:
    """Build a linear model for each arm in fresh contexts, drawn for each trial."""
    from jaxbandits.contextual import DisjointLinUCB, LinearContexts

    fields = {"n_arms": case.n_arms, "dim": case.dim}
    return DisjointLinUCB(**fields), LinearContexts(**fields)


def _linear(case: Case) -> tuple[Any, Any]:
    """Build a linear bandit with heavy-tailed noise; every trial has its own arms and parameter."""
    from jaxbandits.algorithms import ALGORITHMS
    from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
    from jaxbandits.environments.linear.noise import StudentT

    environment = HeavyTailed(dim=case.dim, n_arms=case.n_arms, noise=StudentT(df=NOISE_DF), eps=numpy_loops.EPS)
    fields: dict[str, Any] = {"dim": case.dim, "horizon": HORIZON_IN_FORMULAS}
    fields["moment_bound" if case.algorithm == "hvt_ucb" else "noise_scale"] = NOISE_SCALE
    if case.algorithm != "oful":
        fields["eps"] = numpy_loops.EPS
    fields |= numpy_loops.SCALES[case.algorithm]
    return ALGORITHMS[f"linear/{case.algorithm}"].cls.practical(**fields), environment


def _generalized_linear(case: Case) -> tuple[Any, Any]:
    """Build a logistic bandit; every trial has its own parameter and arms."""
    from jaxbandits.algorithms.glm.glb_omd import GLBOMD
    from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear

    make = GeneralizedLinear.tv if case.fresh_arms else GeneralizedLinear.fixed
    environment = make(dim=case.dim, n_arms=case.n_arms, norm_bound=numpy_glm.RADIUS)
    return GLBOMD.experiments(dim=case.dim, norm_bound=numpy_glm.RADIUS, delta=numpy_glm.DELTA), environment


def _online(case: Case) -> tuple[Any, Any]:
    """Build pseudo-Huber losses around noisy targets, G = 1; the unit ball for learners that need a domain."""
    from jaxbandits.algorithms import ALGORITHMS
    from jaxbandits.algorithms.oco.ca_oons import CAOONS
    from jaxbandits.environments.oco.pseudo_huber_losses import PseudoHuberLosses

    environment = PseudoHuberLosses(dim=case.dim, center=numpy_online.CENTER, noise_scale=numpy_online.NOISE)
    if case.algorithm == "ca_oons":
        return CAOONS(dim=case.dim, n_base=numpy_online.N_BASE), environment
    return ALGORITHMS[f"oco/{case.algorithm}"].cls(dim=case.dim), environment


def _constrained(case: Case) -> tuple[Any, Any]:
    """Build linear losses on the unit ball under a linear constraint that changes each round, drawn for each trial."""
    from jaxbandits.coco import OFWTVC, LinearConstraints

    algorithm = OFWTVC.practical(dim=case.dim, horizon=HORIZON_IN_FORMULAS, lipschitz=numpy_constrained.LIPSCHITZ)
    return algorithm, LinearConstraints(dim=case.dim)


def _grouped(case: Case) -> tuple[Any, Any]:
    """Build synthetic groups, drawn for every trial, without the optima that a solver finds afterwards."""
    from benchmarks.speed.groups import FreshGroups
    from jaxbandits.algorithms import ALGORITHMS

    fields = {"dim": case.dim, "n_groups": case.groups}
    return ALGORITHMS[f"dro/{case.algorithm}"].cls.practical(horizon=HORIZON_IN_FORMULAS, **fields), FreshGroups(
        **fields
    )
