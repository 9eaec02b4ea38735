"""Figure 2 of Garivier & Cappe (2011): ten Bernoulli arms with small means."""

from jaxbandits.reproduction.engine import Curves
from jaxbandits.reproduction.experiments.classics.setting import KL, LogCurves, coins, kl_claims, kl_learners
from jaxbandits.reproduction.sentences import mean, observations

_MEANS, _HORIZON = [0.1, *[0.05] * 3, *[0.02] * 3, *[0.01] * 3], 20_000
_ON = "arms"

KL_FIG2 = KL.experiment(
    "kl-fig2",
    "Figure 2",
    horizon_stated=True,
    title="ten Bernoulli arms with means 0.1, and three times 0.05, 0.02 and 0.01",
    shows="Figure 2 shows the regret of KL-UCB and its competitors over time, on ten Bernoulli arms with small means. "
    "The paper states means of 0.1, and three times each of 0.05, 0.02 and 0.01, and n = 20,000; its abstract names "
    "the competitors UCB, MOSS, UCB-Tuned, UCB-V and DMED.",
    horizon=_HORIZON,
    algorithms=kl_learners,
    panels=lambda horizon: {_ON: coins("means 0.1, 3 x 0.05, 3 x 0.02, 3 x 0.01", _MEANS)},
    claims=(
        *kl_claims("Figure 2", _ON, _MEANS, _HORIZON),
        *observations("beats-others", mean("KL-UCB") < mean("MOSS", "UCB-V"), on=_ON,
                      says="KL-UCB is better than {rival}", place="Figure 2"),
    ),
    figures=(LogCurves(), Curves(not_drawn=("UCB1", "UCB1 with 1/2"))),
)
