"""Table 1 of Russo & Van Roy (2018): Bayesian regret of information-directed sampling on Bernoulli arms."""


from jaxbandits.armed import (
    IDS,
    KLUCB,
    MOSS,
    UCB1,
    VIDS,
    BayesUCB,
    BernoulliArms,
    KnowledgeGradient,
    OptimisticGittins,
    ThompsonBeta,
    UCBTuned,
)
from jaxbandits.reproduction.engine import Curves, Learners, Panel, Shares, Study
from jaxbandits.reproduction.experiments.classics.setting import PRESETS
from jaxbandits.reproduction.sentences import claims, mean, median, observations, share, slug

_ON, _ARMS = "arms", 10
_MEANS = {"V-IDS": 18.1, "Thompson": 28.1, "UCB-Tuned": 36.3, "UCB1": 130.7}  # quoted from memory
_WITHIN = 1.1


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, panel
    return {
        "V-IDS": VIDS(n_arms=_ARMS),
        "IDS": IDS(n_arms=_ARMS),
        "OGI": OptimisticGittins(n_arms=_ARMS),
        "Thompson": ThompsonBeta(n_arms=_ARMS),
        "Bayes-UCB": BayesUCB(n_arms=_ARMS, horizon=horizon),
        "KL-UCB": KLUCB(n_arms=_ARMS),
        "UCB-Tuned": UCBTuned(n_arms=_ARMS),
        "MOSS": MOSS(n_arms=_ARMS, horizon=horizon, noise_scale=0.5),
        "KG": KnowledgeGradient(n_arms=_ARMS, horizon=horizon),
        "UCB1": UCB1(n_arms=_ARMS),
    }


RUSSO_TABLE1 = Study(
    "classics", "Russo & Van Roy, Operations Research 66(1), 2018", horizon=1000, seeds=2000, presets=PRESETS
).experiment(
    "russo-table1",
    "Table 1",
    horizon_stated=True,
    title="ten Bernoulli arms with means uniform on [0, 1], T = 1000",
    shows="Table 1 lists mean and quantiles of the realised regret of IDS, V-IDS, Thompson sampling, Bayes-UCB, UCB1, "
    "UCB-Tuned, MOSS, KL-UCB, the knowledge gradient, and a tuned knowledge gradient. The paper states ten arms, "
    "independent uniform priors, 1,000 rounds and 2,000 trials.",
    algorithms=_learners,
    panels=lambda horizon: {_ON: Panel("ten arms, uniform prior", BernoulliArms(n_arms=_ARMS))},
    claims=(
        *claims("ids-best", mean("V-IDS", "IDS") < mean("Thompson", "Bayes-UCB", "UCB-Tuned", "MOSS", "KL-UCB", "UCB1"),
                on=_ON, says="{label} has a smaller regret than {rival}", place="Table 1"),
        *claims("variance-for-information", mean("V-IDS").close_to(mean("IDS"), within=1.25), on=_ON,
                says="V-IDS and IDS have nearly the same regret", place="Section 6.2"),
        *claims("kg-fails", mean("KG") > mean("V-IDS", "Thompson"), on=_ON,
                says="the knowledge gradient, which explores too little, has a larger mean regret than {rival}",
                place="Table 1"),
        *observations("kg-median", median("KG") < median("Thompson"), on=_ON,
                      says="the knowledge gradient has a smaller median regret than Thompson sampling",
                      place="Table 1"),
        *observations("kg-tail", share("KG", of="regret", at_most=100.0).between(0.65, 0.9), on=_ON,
                      says="the knowledge gradient has a heavy tail: regret above 100 in 10 % to 35 % of the trials",
                      place="Table 1", least=500),
        *observations("order", mean("Thompson") < mean("UCB-Tuned"), on=_ON,
                      says="Thompson sampling is ahead of {rival}", place="Table 1"),
        *observations("order-of-moss", mean("MOSS") < mean("UCB1"), on=_ON, says="MOSS is ahead of {rival}",
                      place="Table 1"),
        *observations("order-of-tuned", mean("UCB-Tuned") < mean("MOSS"), on=_ON, says="UCB-Tuned is ahead of {rival}",
                      place="Table 1"),
        *observations("ogi", mean("OGI") < mean("Thompson"), on=_ON,
                      says="optimistic Gittins indices, which are not in the paper, are ahead of {rival}",
                      place="Table 1"),
        *(
            claim
            for label, regret in _MEANS.items()
            for claim in observations(f"{slug(label)}-regret", mean(label).between(regret / _WITHIN, regret * _WITHIN),
                                      on={_ON: f"{regret:g}"}, says="{label} has the mean regret of the table, within "
                                                               "10 %",
                                      place="Table 1")
        ),
    ),
    notes=(
        "V-IDS and IDS represent posteriors by probabilities on 128 grid points. MOSS has the constant for rewards in "
        "[0, 1], UCB1 has the constant 2, KL-UCB has c = 0, and Bayes-UCB has the level 1 / t. Optimistic Gittins "
        "indices (OGI, with one step of lookahead) are added; KG is the knowledge gradient. The tuned knowledge "
        "gradient KG* is not in the library.",
        "The paper's numbers were not at hand in print: 18.1 (V-IDS), 28.1 (Thompson sampling), 36.3 (UCB-Tuned) and "
        "130.7 (UCB1) are quoted from memory, so claims about them count as ours.",
    ),
    figures=(Shares(mark=None), Curves(not_drawn=("UCB1",))),
)
