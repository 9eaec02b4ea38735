"""Table 1 of Chapelle & Li (2011): regret on items that retire, with feedback in batches."""


from jaxbandits.armed import ChernoffUCB, PerItem, RetiringArms, ThompsonBeta
from jaxbandits.operators import with_batches
from jaxbandits.reproduction.engine import Against, Learners, Panel, Study
from jaxbandits.reproduction.experiments.classics.setting import CHAPELLE, PRESETS
from jaxbandits.reproduction.sentences import claims, mean, measure, observations, panel_ratio, ratio_of_ratios

_ITEMS = 10
_RATIOS = {1: 2.65, 3: 2.68, 10: 2.84, 32: 2.98, 100: 3.22, 316: 3.60, 1000: 3.82}  # as printed, by delay
_WITHIN = 1.25
_GROWTH = measure(
    "factor by which the mean regret of UCB grows from delay 1 to delay 1,000, divided by that factor for Thompson "
    "sampling,",
    ratio_of_ratios("delay1000", "delay1", "UCB", "Thompson"),
    ("UCB", "Thompson"),
)


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, horizon, panel
    return {"UCB": PerItem(policy=ChernoffUCB(n_arms=_ITEMS)), "Thompson": PerItem(policy=ThompsonBeta(n_arms=_ITEMS))}


CHAPELLE_TABLE1 = Study(
    "classics", CHAPELLE, horizon=1_000_000, seeds=256, presets=PRESETS, record_points=20
).experiment(
    "chapelle-table1",
    "Table 1",
    horizon_stated=True,
    title="items that retire, with feedback in batches",
    shows="Table 1 lists the regret of UCB and of Thompson sampling, and the ratio of the two, for feedback every 1, "
    "3, 10, 32, 100, 316 and 1000 steps. The paper states 10 items, one of which retires with probability 10^-3 at a "
    "given time and is replaced, reward probabilities from Beta(4, 4), T = 10^6, and averages over 100 repetitions.",
    algorithms=_learners,
    panels=lambda horizon: {
        f"delay{delay}": Panel(
            f"feedback every {delay:,} rounds" if delay > 1 else "feedback in every round",
            with_batches(RetiringArms(n_arms=_ITEMS), delay),
            x=delay,
        )
        for delay in _RATIOS
    },
    claims=(
        *(
            claim
            for delay, ratio in _RATIOS.items()
            for claim in observations(
                "ratio-as-printed",
                (mean("UCB") / mean("Thompson")).between(ratio / _WITHIN, ratio * _WITHIN),
                on={f"delay{delay}": f"delay {delay:,}: {ratio:g}"},
                says="the ratio of the regrets of UCB and Thompson sampling agrees with the paper within 25 %",
                place="Table 1",
            )
        ),
        *(
            claim
            for delay in (3, 10, 32)
            for claim in claims("short-delays",
                                panel_ratio("Thompson", f"delay{delay}", "delay1").between(1.0 / 1.1, 1.1),
                                on={f"delay{delay}": f"delay {delay}"}, panels=(f"delay{delay}", "delay1"),
                                says="delays up to 32 rounds hardly change the regret of Thompson sampling",
                                place="Table 1")
        ),
        *claims("ucb-suffers-more", _GROWTH > 1.0, says="UCB suffers more from a long delay than Thompson sampling",
                place="Table 1"),
    ),
    notes=(
        "UCB is the version of the paper, and Thompson sampling has the prior Beta(1, 1). Both forget an item when a "
        "new one replaces it.",
        "For delay 1 the paper's table has a regret of 24,145 for UCB and of 9,105 for Thompson sampling. 'Hardly "
        "change' is read as within a factor of 1.1.",
    ),
    guessed="the retirement probability is read as one per round: with probability 10^-3, one randomly drawn item "
            "retires",
    figures=(Against("rounds from one batch of feedback to the next"),),
)
