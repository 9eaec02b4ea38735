"""What is timed: the sizes, and the same problem for the simulator and for NumPy."""

from typing import Any, NamedTuple

TRIALS = (1, 16, 256, 1024, 4096)


class Case(NamedTuple):
    """One algorithm at one size."""

    algorithm: str
    dim: int
    n_arms: int
    horizon: int  # rounds of the simulator's run with 256 trials or more
    numpy_rounds: int  # rounds of the single NumPy loop

    @property
    def name(self) -> str:
        return f"{self.algorithm} d={self.dim} K={self.n_arms}"


CASES = (
    Case("hvt_ucb", 2, 50, 4000, 20_000),
    Case("hvt_ucb", 10, 20, 1000, 10_000),
    Case("oful", 2, 50, 4000, 30_000),
    Case("oful", 5, 20, 3000, 30_000),
    Case("oful", 10, 20, 1000, 20_000),
)
HORIZON_IN_FORMULAS = 18_000
NOISE_DF, NOISE_SCALE = 2.1, 1.31


def build(case: Case) -> tuple[Any, Any]:
    """The algorithm and the environment of a case: heavy-tailed noise, every trial its own arms and parameter."""
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
