"""Figures 1 and 3 with one arm set a trial, which the paper's instance does not have."""

from collections.abc import Sequence

from jaxbandits.estimation.links import Bernoulli
from jaxbandits.reproduction.engine.claim import Claim
from jaxbandits.reproduction.engine.figures import Curves
from jaxbandits.reproduction.engine.statements import higher, lower, not_worse, panel_ratio
from jaxbandits.reproduction.engine.thresholds import COMPARABLE
from jaxbandits.reproduction.experiments.glm import setting
from jaxbandits.reproduction.experiments.glm.fig1 import modest_increase, ofuglb_is_lowest, root_of_t


def logistic_observations(panels: Sequence[str], arms: str) -> tuple[Claim, ...]:
    """Compare regret on other arms than those of the paper's instance.

    Args:
      panels: by S.
      arms: how they differ, for the place of the claims.
    """
    place = f"ours, on Figures 1 and 3 ({arms})"
    says = "GLB-OMD is comparable to {second} or better"
    data = "the data radius is better than Theorem 1's"
    return (
        *(claim for panel in panels for claim in ofuglb_is_lowest(panel, place, ("GLB-OMD", "ECOLog", "GLOC"))),
        *not_worse("GLB-OMD", ("ECOLog", "ada-OFU-ECOLog"), on=panels, says=says, place=place, trials=32),
        *(claim for panel in panels for claim in modest_increase(panel, place, "a modest price for one pass")),
        *lower("GLB-OMD, data radius", "GLB-OMD", on=panels, says=data, place="ours", trials=32),
        panel_ratio(
            "GLB-OMD",
            panels[-1],
            panels[0],
            says="regret of GLB-OMD does not grow significantly with S",
            place=place,
            high=COMPARABLE,
        ),
        *root_of_t(panels),
    )


_NORMS = (3, 5, 7, 9)

FIG1_FIXED = setting.OTHER_ARMS.experiment(
    "fig1-fixed",
    "Figures 1 and 3 (v2: 1 and 4)",
    title="logistic bandits, one arm set a trial",
    panels=lambda horizon: setting.norms(_NORMS, Bernoulli(), fresh=False),
    claims=(
        *logistic_observations([f"S{norm}" for norm in _NORMS], "fixed arms"),
        *higher(
            "GLM-UCB",
            "uniform",
            on="S7",
            factor=0.8,
            says="GLM-UCB explodes with kappa",
            place="ours (Table 1 has an upper bound)",
            trials=32,
        ),
    ),
    notes=(
        setting.UNSTATED,
        setting.COUNTS,
        setting.SEEDS_NOTE,
        setting.WORST_KAPPA,
        setting.ECOLOG,
        setting.ADA,
        setting.TUNING,
    ),
    slow=dict.fromkeys((*setting.MLE, "ada-OFU-ECOLog"), setting.SOME),
    figures=(Curves(not_drawn=setting.UNDRAWN, logarithmic=True),),
)
