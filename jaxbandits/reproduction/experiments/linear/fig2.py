"""Figure 2: Gaussian noise."""

from jaxbandits.environments.linear.noise import Gaussian
from jaxbandits.reproduction.engine.statements import equivalent, higher
from jaxbandits.reproduction.experiments.linear import setting

_PLACE = "Figure 2, left; Section 5"

FIG2 = setting.FIGURES.experiment(
    "fig2",
    "Figure 2",
    title="Gaussian noise",
    algorithms=setting.learners_with_common_bound(eps=1.0, bound=1.0),
    panels=lambda horizon: setting.both_normalisations(noise=Gaussian(), eps=1.0),
    claims=(
        *equivalent("Hvt-UCB", "OFUL", on=setting.TITLES, says="Hvt-UCB is competitive alongside OFUL", place=_PLACE),
        *higher("CRTM", "Hvt-UCB", on=setting.TITLES, says="CRTM truncates too much", place=_PLACE),
        *setting.comparable(_PLACE, setting.TITLES),
        *setting.time_claims("Figure 2"),
    ),
    notes=(setting.TWO_NORMALISATIONS,),
    **setting.TIMED,
)
