"""Figure 3 of Zimmert & Seldin (2021): regret against an adversary that changes the means but keeps the gaps."""

from collections.abc import Mapping

from jaxbandits.armed import UCB1, BernoulliArms, Exp3, SwitchingArms, ThompsonBeta, TsallisINF
from jaxbandits.reproduction.engine import Curves, Learners, Panel, Study
from jaxbandits.reproduction.experiments.classics.setting import PRESETS, ZIMMERT, LogCurves
from jaxbandits.reproduction.sentences import MUCH, claims, growth, mean, observations

_ARMS, _GAP = 8, 0.125
_ALMOST_LINEAR, _LOGARITHMIC = 0.85, 0.3  # log-log slopes; the slope of log t is below 0.1 here


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, horizon, panel
    classes = {"UCB1": UCB1, "Thompson": ThompsonBeta, "Exp3": Exp3, "Tsallis-INF": TsallisINF}
    return {label: cls(n_arms=_ARMS) for label, cls in classes.items()}


def _panels(horizon: int) -> Mapping[str, Panel]:
    means = [0.5 + 0.5 * _GAP, *[0.5 - 0.5 * _GAP] * (_ARMS - 1)]
    return {
        "adversary": Panel(
            "stochastically constrained adversary", SwitchingArms.constrained(n_arms=_ARMS, horizon=horizon, gap=_GAP)
        ),
        "stochastic": Panel("stochastic arms, the same gap", BernoulliArms.from_means(means)),
    }


TSALLIS_FIG3 = Study("classics", ZIMMERT, horizon=1_000_000, seeds=512, presets=PRESETS).experiment(
    "tsallis-fig3",
    "Figure 3",
    title="adversarial and stochastic arms with a gap of 1/8",
    shows="Figure 3 shows the regret over the rounds under a stochastically constrained adversary, which keeps the "
    "gaps between the arms while their means change, for Tsallis-INF and, among others, UCB1 and Thompson sampling, "
    "which the abstract names.",
    algorithms=_learners,
    panels=_panels,
    record_points=("log", 80),
    claims=(
        *claims("almost-linear", growth("UCB1", "Thompson") > _ALMOST_LINEAR, on="adversary",
                says="{label} exhibits almost linear regret against the adversary", place="Figure 3; abstract"),
        *claims("logarithmic", growth("Tsallis-INF") < _LOGARITHMIC, on="adversary",
                says="Tsallis-INF suffers only logarithmic regret against the adversary", place="Figure 3; abstract"),
        *observations(
            "stochastic",
            mean("Tsallis-INF") < 1.0 / MUCH * mean("UCB1", "Exp3"),
            on="stochastic",
            says="Tsallis-INF significantly outperforms {rival} in stochastic environments",
            place="abstract",
            remark="'significantly' is read as by a factor of 2; K = 8, the gap of 1/8 and 10^6 rounds are our choice",
        ),
        *observations("thompson-ahead", mean("Thompson") < mean("Tsallis-INF"), on="stochastic",
                      says="Thompson sampling is ahead of Tsallis-INF in the stochastic environment",
                      place="Figure 3"),
    ),
    notes=(
        "Tsallis-INF uses importance-weighted loss estimates; the paper's experiments may use loss estimates with "
        "reduced variance.",
        "With D the gap, the means of the adversary are 1 and 1 - D in phases with even numbers, and D and 0 in phases "
        "with odd numbers. Phase n = 0, 1, ... has 1.6^n rounds, rounded "
        "down.",
        "'Almost linear' and 'logarithmic' are read as log-log slopes above 0.85 and below 0.3 over the last decade.",
    ),
    guessed="K, the gap and the number of rounds are guessed",
    figures=(Curves(), LogCurves(bound=False, logarithmic=True)),
)
