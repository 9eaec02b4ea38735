"""Figures 1 and 2 side by side: heavy and light tails, with the bounds that learners are given."""

from collections.abc import Mapping

from jaxbandits.environments.linear.noise import Gaussian, StudentT
from jaxbandits.experiments.engine.experiment import Panel
from jaxbandits.experiments.linear.setting import NORMALISATIONS, environment

LAWS = {  # title, law, eps, the bound on its moment that every learner is given
    "student": ("Student t (2.1)", StudentT(df=2.1), 0.99, 1.31),
    "gaussian": ("Gaussian", Gaussian(), 1.0, 1.0),
}


def panels(horizon: int) -> Mapping[str, Panel]:
    """Make panels `LAW-READING` for both laws and readings; learners are given the environment's `moment_scale`."""
    del horizon
    return {
        f"{law}-{reading}": Panel(
            f"{title}, {arms}", environment(noise=noise, eps=eps, moment_scale=bound, unit_arms=unit_arms)
        )
        for law, (title, noise, eps, bound) in LAWS.items()
        for reading, (unit_arms, arms) in NORMALISATIONS.items()
    }
