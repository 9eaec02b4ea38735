"""Figure 1 of Chapelle & Li (2011): Thompson sampling, UCB and the lower bound for several K and gaps."""


from jaxbandits.armed import ChernoffUCB, ThompsonBeta
from jaxbandits.reproduction.engine import Learners, Panel, Study
from jaxbandits.reproduction.experiments.classics.setting import CHAPELLE, PRESETS, LogCurves, coins
from jaxbandits.reproduction.sentences import COMPARABLE, log_growth, mean, observations
from jaxbandits.theory.classics import lai_robbins

_PANELS = {f"K{n_arms}-eps{eps:g}": (n_arms, eps) for n_arms in (10, 100) for eps in (0.1, 0.02)}
_TITLES = {name: f"K = {n_arms}, eps = {eps:g}" for name, (n_arms, eps) in _PANELS.items()}
_FLAT = "K100-eps0.02"  # C log T exceeds the regret of uniform play


def _means(n_arms: int, eps: float) -> list[float]:
    return [0.5, *[0.5 - eps] * (n_arms - 1)]


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, horizon
    n_arms = panel.environment.n_arms
    return {"UCB": ChernoffUCB(n_arms=n_arms), "Thompson": ThompsonBeta(n_arms=n_arms)}


CHAPELLE_FIG1 = Study(
    "classics", CHAPELLE, horizon=1_000_000, seeds=100, presets=PRESETS, record_points=("log", 60)
).experiment(
    "chapelle-fig1",
    "Figure 1",
    title="best arm with mean 0.5, the others with mean 0.5 - eps",
    shows="Figure 1 shows the cumulative regret of Thompson sampling and UCB against T on a logarithmic axis, in one "
    "panel for each K in {10, 100} and eps in {0.02, 0.1}, with the asymptotic lower bound shifted through the origin. "
    "The paper states one arm of mean 0.5 and others of mean 0.5 - eps, the prior Beta(1, 1), updates every 100 "
    "iterations, and averages over 100 repetitions.",
    algorithms=_learners,
    panels=lambda horizon: {name: coins(_TITLES[name], _means(*of)) for name, of in _PANELS.items()},
    claims=(
        *observations("ahead", mean("Thompson") < mean("UCB"), on=_TITLES, says="Thompson sampling is ahead of UCB",
                      place="Figure 1"),
        *(
            claim
            for name, (n_arms, eps) in _PANELS.items()
            if name != _FLAT
            for claim in observations(
                "lower-bound",
                log_growth("Thompson", unit=lai_robbins(_means(n_arms, eps)), what="C").between(
                    1.0 / COMPARABLE, COMPARABLE
                ),
                on={name: _TITLES[name]},
                says="the regret of Thompson sampling grows like the lower bound of Lai and Robbins, C log t, within a "
                "factor of 1.5",
                place="Figure 1 at T = 10^6",
            )
        ),
    ),
    notes=(
        "There are 100 runs, as in the paper; T = 10^6 is our choice. Here learners are updated in every round.",
        "UCB is the version of the paper, with delta = sqrt(1/t).",
        "For K = 100 and eps = 0.02, C log T exceeds the regret of uniform play, so this panel has no claim about the "
        "growth of regret.",
    ),
    figures=(LogCurves(),),
)
