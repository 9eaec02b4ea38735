"""Figures 1 and 3 of Zhang et al. (2025), but with one arm set per trial in place of new arms in every round."""

from collections.abc import Sequence

from jaxbandits.glm import links
from jaxbandits.reproduction.engine import Claim, Curves
from jaxbandits.reproduction.experiments.glm import setting
from jaxbandits.reproduction.experiments.glm.fig1 import modest_increase, ofuglb_is_lowest, root_of_t
from jaxbandits.reproduction.sentences import COMPARABLE, mean, observations, panel_ratio


def logistic_observations(panels: Sequence[str], arms: str) -> tuple[Claim, ...]:
    """Make our observations on the regret in Figures 1 and 3 with arms other than those of the paper's instance.

    Args:
      panels: names of the panels, in increasing order of S.
      arms: description of the arms, which is appended to the figures' numbers in the place of each claim.
    """
    place = f"Figures 1 and 3 ({arms})"
    ours = {"on": panels, "place": place, "kind": "observation"}
    return (
        *ofuglb_is_lowest("GLB-OMD", "ECOLog", "GLOC", **ours),
        *observations("comparable", mean("GLB-OMD") / mean("ECOLog", "ada-OFU-ECOLog") < COMPARABLE, on=panels,
                      says="GLB-OMD is comparable to {rival} or better", place=place, least=32),
        *modest_increase("learning in one pass has a modest price: the regret of GLB-OMD is at most twice that of "
                         "OFUGLB", **ours),
        *observations("data-radius", mean("GLB-OMD, data radius") < mean("GLB-OMD"), on=panels,
                      says="with the data radius (Lemmas 4 and 5) GLB-OMD has less regret than with the radius of "
                      "Theorem 1", least=32),
        *observations("stable-in-s", panel_ratio("GLB-OMD", panels[-1], panels[0]) < COMPARABLE,
                      says="the regret of GLB-OMD does not grow significantly with S", place=place),
        *root_of_t(panels),
    )


_NORMS = (3, 5, 7, 9)

FIG1_FIXED = setting.OTHER_ARMS.experiment(
    "fig1-fixed",
    "Figures 1 and 3 (v2: 1 and 4)",
    horizon_stated=True,
    title="logistic bandits on random instances, one arm set per trial",
    shows="The figures are those of glm/fig1. Here every trial has its own fixed arm set, instead of the published "
    "instance with new arms in every round.",
    panels=lambda horizon: setting.norms(_NORMS, links.Bernoulli(), fresh=False),
    claims=(
        *logistic_observations([f"S{norm}" for norm in _NORMS], "fixed arms"),
        *observations("explodes", mean("GLM-UCB") > 0.8 * mean("uniform"), on="S7",
                      says="at S = 7, where kappa is large, the regret of GLM-UCB is more than 0.8 times that of "
                           "uniform play", place="Table 1 (an upper bound)", least=32),
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
    figures=(Curves(not_drawn=setting.UNDRAWN_OTHER_ARMS, logarithmic=True),),
)
