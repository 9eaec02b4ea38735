"""Section 5: what heavy tails cost a method, against the same instances under Gaussian noise."""

from collections.abc import Mapping
from typing import Any

from jaxbandits.environments.linear.noise import Gaussian, StudentT
from jaxbandits.reproduction.engine.claim import Claim
from jaxbandits.reproduction.engine.experiment import Panel
from jaxbandits.reproduction.engine.statements import panel_ratio
from jaxbandits.reproduction.engine.statistic import ratio_of_ratios
from jaxbandits.reproduction.engine.thresholds import COMPARABLE, MUCH
from jaxbandits.reproduction.experiments.linear import setting

_LAWS = {  # title, law, eps, the bound on its moment that every learner is given
    "student": ("Student t (2.1)", StudentT(df=2.1), 0.99, 1.31),
    "gaussian": ("Gaussian", Gaussian(), 1.0, 1.0),
}


def panels(horizon: int) -> Mapping[str, Panel]:
    """Make panels `LAW-READING` for both laws and readings; learners are given the environment's `moment_scale`."""
    del horizon
    return {
        f"{law}-{reading}": Panel(
            f"{title}, {arms}", setting.environment(noise=noise, eps=eps, moment_scale=bound, unit_arms=unit_arms)
        )
        for law, (title, noise, eps, bound) in _LAWS.items()
        for reading, (unit_arms, arms) in setting.NORMALISATIONS.items()
    }


def _one_pass(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    """Make all learners but HEAVY-OFUL, whose 64 seeds in Figures 1 and 2 are too few for a ratio of ratios."""
    environment: Any = panel.environment
    found = setting.learners(preset, horizon, float(environment.eps), float(environment.moment_scale))
    return {label: learner for label, learner in found.items() if label != "HEAVY-OFUL"}


def _drops(name: str, title: str) -> tuple[Claim, ...]:
    heavy, light = f"student-{name}", f"gaussian-{name}"
    return (
        panel_ratio(
            "OFUL",
            heavy,
            light,
            says="OFUL drops significantly under heavy tails",
            place="Figure 1, left; Section 5",
            low=MUCH,
        ),
        panel_ratio(
            "Hvt-UCB",
            heavy,
            light,
            says="Hvt-UCB is robust",
            place="Figures 1 and 2; Section 5",
            high=COMPARABLE,
        ),
        Claim(
            "heavy tails cost OFUL more than Hvt-UCB: its mean regret grows by a larger factor from Gaussian to "
            f"Student t noise ({title})",
            "ours, on Figures 1 and 2",
            ratio_of_ratios(heavy, light, "OFUL", "Hvt-UCB"),
            low=1.0,
        ),
    )


DROP = setting.STUDY.experiment(
    "drop",
    "Figures 1 and 2",
    title="what heavy tails cost, against Gaussian noise",
    presets=setting.PRESETS | setting.TUNED,
    headline="tuned",
    tuning=setting.QUICK_PER_PANEL,
    algorithms=_one_pass,
    panels=panels,
    claims=tuple(claim for name, title in setting.TITLES.items() for claim in _drops(name, title)),
    notes=(
        setting.TWO_NORMALISATIONS,
        setting.TUNING,
        "Arms and theta* of a seed are the same under both laws. Learners have the bounds of Figures 1 and 2, 1.31 "
        "and 1: radii that are proportional to it are 1.31 times as large under heavy tails.",
    ),
    interpretations={"extra-sigma": setting.EXTRA_SIGMA},
)
