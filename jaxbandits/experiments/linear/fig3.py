"""Figure 3: asymmetric noise of random scale."""

from jaxbandits.environments.linear.noise import Fisk, Lomax, Pareto
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment, Panel
from jaxbandits.experiments.engine.figures import Curves
from jaxbandits.experiments.engine.statistic import mean_difference, median_difference
from jaxbandits.experiments.engine.thresholds import MUCH
from jaxbandits.experiments.linear.claims import comparable
from jaxbandits.experiments.linear.setting import (
    FEWER,
    HORIZON,
    PAPER,
    PER_PANEL,
    PRESETS,
    SLOW,
    TUNED,
    TUNING,
    WIDTH,
    environment,
    learners_given_scale,
)

_LAWS = {"pareto": Pareto(shape=1.5), "lomax": Lomax(shape=1.5), "fisk": Fisk(shape=1.5)}
_JUDGED = ("lomax", "fisk")  # centred, Pareto is Lomax: one experiment, drawn twice and counted once

FIG3 = Experiment(
    name="linear/fig3",
    title="asymmetric noise of random scale",
    source=f"{PAPER}, Figure 3 (Appendix E.1)",
    horizon=HORIZON,
    seeds=512,
    presets=PRESETS | TUNED,
    algorithms=learners_given_scale,
    panels=lambda horizon: {
        name: Panel(f"{type(law).__name__} (1.5)", environment(noise=law, eps=0.49, noise_decades=1.5))
        for name, law in _LAWS.items()
    },
    metric="regret",
    claims=tuple(
        Claim(
            f"CRMM is poor on asymmetric noise: mean regret above {MUCH:g} times Hvt-UCB's ({name})",
            "Figure 3; Appendix E.1", mean_difference(name, "CRMM", "Hvt-UCB", factor=MUCH), low=0.0,
        )
        for name in _JUDGED
    )
    + tuple(
        Claim(
            f"CRMM is poor on asymmetric noise: median regret above {MUCH:g} times Hvt-UCB's ({name})",
            "Figure 3; Appendix E.1", median_difference(name, "CRMM", "Hvt-UCB", factor=MUCH), low=0.0,
        )
        for name in _JUDGED
    )
    + tuple(
        Claim(
            f"Hvt-UCB is far ahead of {other}: mean regret below 1/{MUCH:g} of its ({name})",
            "ours, on Figure 3 (the text compares with HEAVY-OFUL and CRMM only)",
            mean_difference(name, "Hvt-UCB", other, factor=1.0 / MUCH), high=0.0,
        )
        for name in _JUDGED
        for other in ("OFUL", "CRTM")
    )
    + comparable("Figure 3; Appendix E.1", _JUDGED),
    notes=(
        TUNING, FEWER,
        "The paper prints eps = 1.49, outside (0, 1]: 1 + eps is meant. Noise is centred, scaled as in Figure 4(a).",
        "Pareto(b) - 1 is Lomax(b): once centred, the two panels are the same experiment, and claims are counted once.",
    ),
    slow=SLOW,
    tuning=PER_PANEL,
    width=WIDTH,
    figures=(Curves(not_drawn=("uniform",)),),
)  # fmt: skip
