"""Figure 5: arm sets that change."""

from jaxbandits.environments.linear.noise import StudentT
from jaxbandits.reproduction.engine.experiment import Panel
from jaxbandits.reproduction.engine.statements import higher, lower
from jaxbandits.reproduction.engine.thresholds import COMPARABLE, MUCH
from jaxbandits.reproduction.experiments.linear import setting

_PLACE = "Figure 5; Appendix E.3"
_AVAILABLE = {"50 arms": None, "40 of 50": 40, "30 of 50": 30}
_PANELS = {
    f"{name}-{setting.ARMS if available is None else available}": Panel(
        f"{arms}, {title}",
        setting.environment(noise=StudentT(df=2.1), eps=0.99, unit_arms=unit_arms, available=available),
    )
    for name, (unit_arms, title) in setting.NORMALISATIONS.items()
    for arms, available in _AVAILABLE.items()
}
_CHANGING = tuple(name for name in _PANELS if not name.endswith("50"))

FIG5 = setting.FIGURES.experiment(
    "fig5",
    "Figure 5 (Appendix E.3)",
    title="arm sets that change",
    guessed="noise guessed",
    algorithms=setting.learners_with_common_bound(eps=0.99, bound=1.31),
    panels=lambda horizon: _PANELS,
    claims=(
        *lower(
            "Hvt-UCB",
            ("OFUL", "HEAVY-OFUL", "CRTM", "CRMM"),
            on=_PANELS.keys(),
            says="Hvt-UCB is best",
            place=_PLACE,
        ),
        *higher("CRMM", "Hvt-UCB", on=_CHANGING, factor=MUCH, says="medians fail once the sets change", place=_PLACE),
        *(
            claim
            for panel in _PANELS
            for name in ("HEAVY-OFUL", "CRTM")
            for claim in lower(
                name, "Hvt-UCB", on=panel, factor=COMPARABLE, says=f"{name} is competitive", place=_PLACE
            )
        ),
    ),
    notes=(setting.TWO_NORMALISATIONS, "The noise is not stated in the paper: that of Figure 1 is used."),
)
