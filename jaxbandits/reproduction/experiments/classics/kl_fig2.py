"""Figure 2: ten arms with small means."""

from jaxbandits.reproduction.engine.figures import Curves
from jaxbandits.reproduction.engine.statements import log_growth, lower, not_worse
from jaxbandits.reproduction.experiments.classics.setting import KL, LogCurves, coins, kl_learners
from jaxbandits.theory.classics import lai_robbins

_MEANS = [0.1, *[0.05] * 3, *[0.02] * 3, *[0.01] * 3]
_ON = "arms"

KL_FIG2 = KL.experiment(
    "kl-fig2",
    "Figure 2",
    title="ten arms, means 0.1, three times 0.05, 0.02 and 0.01",
    horizon=20_000,
    algorithms=kl_learners,
    panels=lambda horizon: {_ON: coins("means 0.1, 3 x 0.05, 3 x 0.02, 3 x 0.01", _MEANS)},
    claims=(
        *lower(
            "KL-UCB",
            "UCB1",
            on=_ON,
            says="KL-UCB always performs better than the basic UCB policy",
            place="Figure 2; abstract",
        ),
        *lower(
            "KL-UCB",
            "UCB1 with 1/2",
            on=_ON,
            says="KL-UCB is also better than UCB1 with the constant 1/2 of Pinsker's inequality",
            place="ours, on Figure 2",
        ),
        *lower(
            "KL-UCB",
            ("MOSS", "UCB-V"),
            on=_ON,
            says="KL-UCB is better than {second}",
            place="ours, on Figure 2",
        ),
        *log_growth(
            "KL-UCB",
            on=_ON,
            says="KL-UCB grows as the lower bound of Lai and Robbins does",
            place="ours, on Theorem 1 at n = 20,000",
            unit=lai_robbins(_MEANS),
            what="C = 17.445",
            low=0.85,
            high=1.15,
        ),
        *not_worse(
            "Thompson",
            "KL-UCB",
            on=_ON,
            says="Thompson sampling is not worse than KL-UCB",
            place="ours, on Figure 2",
            within=1.1,
        ),
        *not_worse(
            "Bayes-UCB",
            "KL-UCB",
            on=_ON,
            says="Bayes-UCB is not worse than KL-UCB",
            place="ours, on Figure 2",
            within=1.1,
        ),
    ),
    figures=(LogCurves(), Curves(not_drawn=("UCB1", "UCB1 with 1/2"))),
)
