"""Figure 5 of Wang et al. (2025): regret on arm sets that change."""

from jaxbandits.linear import noise
from jaxbandits.reproduction.engine import Panel
from jaxbandits.reproduction.experiments.linear import setting
from jaxbandits.reproduction.sentences import COMPARABLE, MUCH, claims, mean

_FIGURE = {"place": "Figure 5; Appendix E.3"}
_AVAILABLE = {"50 arms": None, "40 of 50": 40, "30 of 50": 30}
_PANELS = {
    f"{name}-{setting.ARMS if available is None else available}": Panel(
        f"{arms}, {title}",
        setting.environment(noise=noise.StudentT(df=2.1), eps=0.99, unit_arms=unit_arms, available=available),
    )
    for name, (unit_arms, title) in setting.NORMALISATIONS.items()
    for arms, available in _AVAILABLE.items()
}
_CHANGING = tuple(name for name in _PANELS if not name.endswith("50"))
_RIVALS = mean("OFUL", "HEAVY-OFUL", "CRTM", "CRMM")

FIG5 = setting.FIGURES.experiment(
    "fig5",
    "Figure 5 (Appendix E.3)",
    title="arm sets that change",
    shows="Figure 5 shows the cumulative regret for arm sets that change: in each round, the first panel offers all 50 "
        "arms, the second a random 40 of them, and the third a random 30. The text names Hvt-UCB, HEAVY-OFUL, CRTM and "
        "the learner with medians of means. The paper states 50 arms drawn before the experiment begins, regret "
        "against the best arm of each round, and 5 trials.",
    guessed="the noise is guessed",
    algorithms=setting.learners_with_common_bound(eps=0.99, bound=1.31),
    panels=lambda horizon: _PANELS,
    claims=(
        *claims("best", mean("Hvt-UCB") < _RIVALS, on=_PANELS.keys(), says="Hvt-UCB is best", **_FIGURE),
        *claims("medians-fail", mean("CRMM") > MUCH * mean("Hvt-UCB"), on=_CHANGING,
                says="the learner with medians (CRMM) fails when the arm sets change", **_FIGURE),
        *claims("competitive", mean("HEAVY-OFUL", "CRTM") < COMPARABLE * mean("Hvt-UCB"), on=_PANELS.keys(),
                says="{label} is competitive", **_FIGURE),
    ),
    slow={"HEAVY-OFUL": 256},
    notes=(setting.TWO_NORMALISATIONS, "The paper does not state the noise; these runs use the noise of Figure 1."),
)
