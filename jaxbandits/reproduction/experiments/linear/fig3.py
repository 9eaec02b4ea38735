"""Figure 3: asymmetric noise of random scale."""

from jaxbandits.environments.linear.noise import Fisk, Lomax, Pareto
from jaxbandits.reproduction.engine.experiment import Panel
from jaxbandits.reproduction.engine.statements import higher, lower
from jaxbandits.reproduction.engine.thresholds import MUCH
from jaxbandits.reproduction.experiments.linear import setting

_PLACE = "Figure 3; Appendix E.1"
_LAWS = {"pareto": Pareto(shape=1.5), "lomax": Lomax(shape=1.5), "fisk": Fisk(shape=1.5)}
_JUDGED = ("lomax", "fisk")  # centred, Pareto is Lomax: one experiment, drawn twice and counted once
_POOR = "CRMM is poor on asymmetric noise"

FIG3 = setting.FIGURES.experiment(
    "fig3",
    "Figure 3 (Appendix E.1)",
    title="asymmetric noise of random scale",
    algorithms=setting.learners_given_scale,
    panels=lambda horizon: {
        name: Panel(f"{type(law).__name__} (1.5)", setting.environment(noise=law, eps=0.49, noise_decades=1.5))
        for name, law in _LAWS.items()
    },
    claims=(
        *higher("CRMM", "Hvt-UCB", on=_JUDGED, factor=MUCH, says=_POOR, place=_PLACE),
        *higher("CRMM", "Hvt-UCB", on=_JUDGED, factor=MUCH, average="median", says=_POOR, place=_PLACE),
        *lower(
            "Hvt-UCB",
            ("OFUL", "CRTM"),
            on=_JUDGED,
            factor=1.0 / MUCH,
            says="Hvt-UCB is far ahead of {second}",
            place="ours, on Figure 3 (the text compares with HEAVY-OFUL and CRMM only)",
        ),
        *setting.comparable(_PLACE, _JUDGED),
    ),
    notes=(
        "The paper prints eps = 1.49, outside (0, 1]: 1 + eps is meant. Noise is centred, scaled as in Figure 4(a).",
        setting.ONE_NORMALISATION,
        "Pareto(b) - 1 is Lomax(b): once centred, the two panels are the same experiment, and claims are counted once.",
    ),
)
