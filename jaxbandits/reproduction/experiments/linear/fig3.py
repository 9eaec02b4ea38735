"""Figure 3 of Wang et al. (2025): regret under asymmetric noise of random scale."""

from jaxbandits.linear import noise
from jaxbandits.reproduction.engine import Panel
from jaxbandits.reproduction.experiments.linear import setting
from jaxbandits.reproduction.sentences import MUCH, claims, mean, median, observations

_PLACE = "Figure 3; Appendix E.1"
_LAWS = {"pareto": noise.Pareto(shape=1.5), "lomax": noise.Lomax(shape=1.5), "fisk": noise.Fisk(shape=1.5)}
_JUDGED = ("lomax", "fisk")  # centred Pareto and Lomax noise are equal: drawn twice, counted once

FIG3 = setting.FIGURES.experiment(
    "fig3",
    "Figure 3 (Appendix E.1)",
    title="asymmetric noise of random scale",
    shows="Figure 3 shows the cumulative regret under three asymmetric noise distributions (Pareto, Lomax and Fisk), "
    "one panel each; of the learners, the text names Hvt-UCB, HEAVY-OFUL and CRMM. The paper states b = 1.5 for Pareto "
    "and c = 1.5 for the others (as in scipy.stats), eps = 1.49, a scale of the noise that varies over time as in "
    "Figure 4, and 5 trials.",
    guessed="the centring and the scale of the noise are guessed",
    algorithms=setting.learners_given_scale,
    panels=lambda horizon: {
        name: Panel(f"{type(law).__name__} (1.5)", setting.environment(noise=law, eps=0.49, noise_decades=1.5))
        for name, law in _LAWS.items()
    },
    claims=(
        *claims("crmm-poor", mean("CRMM") > MUCH * mean("Hvt-UCB"), median("CRMM") > MUCH * median("Hvt-UCB"),
                on=_JUDGED, says="CRMM is poor under asymmetric noise", place=_PLACE),
        *observations("far-ahead", mean("Hvt-UCB") < 1.0 / MUCH * mean("OFUL", "CRTM"), on=_JUDGED,
                      says="Hvt-UCB is far ahead of {rival}",
                      place="Figure 3 (the text compares with HEAVY-OFUL and CRMM only)"),
        *setting.comparable(_PLACE, _JUDGED),
    ),
    notes=(
        "The paper prints eps = 1.49, which lies outside (0, 1]; it must mean 1 + eps = 1.49. It does not say whether "
        "the noise is centred, nor which scale of Figure 4 it has; we centre it and use the scale of Figure 4(a).",
        setting.ONE_NORMALISATION,
        "If X has the distribution Pareto(b), then X - 1 has the distribution Lomax(b). After centring, the panels "
        "pareto and lomax are therefore the same experiment, and claims are tested only in lomax.",
    ),
)
