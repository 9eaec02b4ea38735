"""What is timed: the sizes, and the same problem for the simulator and for NumPy."""

from typing import Any, NamedTuple

from benchmarks.speed import numpy_online

TRIALS = (1, 16, 256, 1024, 4096)


class Case(NamedTuple):
    """One algorithm at one size."""

    algorithm: str
    dim: int
    n_arms: int  # 0: online convex optimisation
    horizon: int  # rounds of the simulator's run with 256 trials or more
    numpy_rounds: int  # rounds of the single NumPy loop
    numpy_trial_rounds: int = 200_000  # rounds of NumPy over seeds, all seeds together

    @property
    def name(self) -> str:
        return f"{self.algorithm} d={self.dim}" + (f" K={self.n_arms}" if self.n_arms else "")


CASES = (
    Case("hvt_ucb", 2, 50, 4000, 20_000),
    Case("hvt_ucb", 10, 20, 1000, 10_000),
    Case("oful", 2, 50, 4000, 30_000),
    Case("oful", 5, 20, 3000, 30_000),
    Case("oful", 10, 20, 1000, 20_000),
    Case("oons", 2, 0, 8000, 10_000, 100_000),
    Case("oons", 5, 0, 4000, 10_000, 100_000),
    Case("ca_oons", 2, 0, 300, 1500, 20_000),  # N = 14 base learners, as for T = 2^14
    Case("cla_oons", 2, 0, 8000, 10_000, 100_000),
    Case("cla_oons", 5, 0, 4000, 10_000, 100_000),
    *(
        Case(algorithm, 10, 0, 8000, 50_000, 1_000_000)
        for algorithm in (
            "ogd", "adagrad_norm", "kt_betting", "parameter_free_md", "scale_free_ftrl", "dog", "dowg",
            "optimistic_omd", "optimistic_ftrl_2022", "optimistic_ftrl_2023",
        )
    ),
)  # fmt: skip
HORIZON_IN_FORMULAS = 18_000
NOISE_DF, NOISE_SCALE = 2.1, 1.31


def build(case: Case) -> tuple[Any, Any]:
    """The algorithm and the environment of a case."""
    return _linear(case) if case.n_arms else _online(case)


def _linear(case: Case) -> tuple[Any, Any]:
    """Heavy-tailed noise, every trial its own arms and parameter."""
    from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
    from jaxbandits.algorithms.linear.oful import OFUL
    from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
    from jaxbandits.environments.linear.noise import StudentT

    environment = HeavyTailed(dim=case.dim, n_arms=case.n_arms, noise=StudentT(df=NOISE_DF), eps=0.99)
    if case.algorithm == "hvt_ucb":
        algorithm: Any = HvtUCB.practical(dim=case.dim, horizon=HORIZON_IN_FORMULAS, eps=0.99, moment_bound=NOISE_SCALE)
    else:
        algorithm = OFUL.practical(dim=case.dim, horizon=HORIZON_IN_FORMULAS, noise_scale=NOISE_SCALE)
    return algorithm, environment


def _online(case: Case) -> tuple[Any, Any]:
    """Pseudo-Huber losses around noisy targets, G = 1; the unit ball for learners that want one."""
    from jaxbandits.algorithms import ALGORITHMS
    from jaxbandits.algorithms.oco.ca_oons import CAOONS
    from jaxbandits.environments.oco.pseudo_huber_losses import PseudoHuberLosses

    environment = PseudoHuberLosses(dim=case.dim, center=numpy_online.CENTER, noise_scale=numpy_online.NOISE)
    if case.algorithm == "ca_oons":
        return CAOONS(dim=case.dim, n_base=numpy_online.N_BASE), environment
    return ALGORITHMS[f"oco/{case.algorithm}"].cls(dim=case.dim), environment
