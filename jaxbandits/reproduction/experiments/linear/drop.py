"""Section 5 of Wang et al. (2025): regret under heavy tails, compared with the same instances and Gaussian noise."""

from collections.abc import Mapping

from jaxbandits.base.pytree import Fields
from jaxbandits.linear import noise
from jaxbandits.reproduction.engine import Claim, Learners, Panel, Problem
from jaxbandits.reproduction.experiments.linear import setting
from jaxbandits.reproduction.sentences import (
    COMPARABLE,
    MUCH,
    claims,
    measure,
    observations,
    panel_ratio,
    ratio_of_ratios,
)

_LAWS = {  # title, law, eps, and the bound on its moment that every learner receives
    "student": ("Student t (2.1)", noise.StudentT(df=2.1), 0.99, 1.31),
    "gaussian": ("Gaussian", noise.Gaussian(), 1.0, 1.0),
}


def panels(horizon: int) -> Mapping[str, Panel]:
    """Make four panels: heavy-tailed and Gaussian noise, for both readings of "rescaled to satisfy L = 1".

    Names have the form "student-max" (noise, then reading). Learners are given the `moment_scale` of the environment.
    """
    del horizon
    return {
        f"{law}-{reading}": Panel(
            f"{title}, {arms}", setting.environment(noise=of_noise, eps=eps, moment_scale=bound, unit_arms=unit_arms)
        )
        for law, (title, of_noise, eps, bound) in _LAWS.items()
        for reading, (unit_arms, arms) in setting.NORMALISATIONS.items()
    }


def _one_pass(preset: str, horizon: int, panel: Panel) -> Learners:
    """Make all learners except HEAVY-OFUL, which has too few seeds in Figures 1 and 2 for a ratio of ratios."""
    environment: Problem = panel.environment
    found = setting.learners(preset, horizon, float(environment.eps), float(environment.moment_scale))
    return {label: learner for label, learner in found.items() if label != "HEAVY-OFUL"}


def _drops(reading: str, title: str) -> tuple[Claim, ...]:
    heavy, light = f"student-{reading}", f"gaussian-{reading}"
    on: Fields = {"on": {reading: title}, "panels": (heavy, light)}
    more = measure(
        "factor by which the mean regret of OFUL grows from Gaussian to Student t noise, divided by that factor for "
        "Hvt-UCB,",
        ratio_of_ratios(heavy, light, "OFUL", "Hvt-UCB"),
        ("OFUL", "Hvt-UCB"),
    )
    return (
        *claims("oful-drops", panel_ratio("OFUL", heavy, light) > MUCH,
                says="the performance of OFUL drops significantly under heavy "
                "tails", place="Figure 1, left; Section 5", **on),
        *claims("hvt-ucb-robust", panel_ratio("Hvt-UCB", heavy, light) < COMPARABLE, says="Hvt-UCB is robust to heavy "
                                                                                     "tails",
                place="Figures 1 and 2; Section 5", **on),
        *observations("oful-loses-more", more > 1.0, says="heavy tails cost OFUL more than Hvt-UCB",
                      place="Figures 1 and 2", **on),
    )


DROP = setting.STUDY.experiment(
    "drop",
    "Figures 1 and 2",
    horizon_stated=True,
    title="cost of heavy tails, compared with Gaussian noise",
    presets=setting.TUNED | setting.PRESETS,
    tuning=setting.QUICK_PER_PANEL,
    algorithms=_one_pass,
    panels=panels,
    claims=tuple(claim for name, title in setting.TITLES.items() for claim in _drops(name, title)),
    notes=(
        setting.TWO_NORMALISATIONS,
        setting.TUNING,
        "HEAVY-OFUL and TOFU are not in this experiment.",
        "For a given seed, the arms and theta* are the same under both noise distributions. Learners receive the "
        "moment bounds of Figures 1 and 2, which are 1.31 under heavy tails and 1 under Gaussian noise.",
    ),
    interpretations={"extra-sigma": setting.EXTRA_SIGMA},
)
