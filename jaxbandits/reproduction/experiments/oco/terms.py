"""Theorem 4.5 of Wang et al. (2025): regret of CLA-OONS compared with the bound, against ||u|| and against G."""

from collections.abc import Mapping

from jaxbandits.oco import CLAOONS, PseudoHuberLosses
from jaxbandits.reproduction.engine import Against, Curves, Learners, Panel
from jaxbandits.reproduction.experiments.oco.setting import STUDY, share_of_bound
from jaxbandits.reproduction.sentences import exponent_of, growth_over, mean, observations
from jaxbandits.theory.oco import theorem_4_5

HORIZON, _NOISE, _NORM = 2**14, 0.2, 4.0
_NORMS = {f"norm-{norm:g}": norm for norm in (1.0, 4.0, 16.0, 64.0)}  # at G = 1
_SCALES = {f"scale-{scale:g}": scale for scale in (0.1, 1.0, 10.0, 100.0)}  # G, at ||u|| = 4


def visible_bound(norm: float, lipschitz: float, horizon: int) -> float:
    """Return the bound of Theorem 4.5 for pseudo-Huber losses around u with noise of scale s = 0.2.

    Hidden constants and logarithms are set to 1. Gradients are G-Lipschitz in the target, so sigma_t <= G s. The mean
    loss does not change, so Sigma^2_{1:T} = G^2, and frak-G_{1:T}, the sum of sup_x ||grad F_t(x)||, is G T.

    Args:
      norm: ||u||.
      lipschitz: G.
      horizon: T.
    """
    terms = theorem_4_5(
        norm,
        lipschitz,
        variance=horizon * (lipschitz * _NOISE) ** 2,
        variation=lipschitz**2,
        deviation=horizon * lipschitz * _NOISE,
        mean_gradients=horizon * lipschitz,
    )
    return sum(terms.values())


def _panels(horizon: int) -> Mapping[str, Panel]:
    def panel(title: str, norm: float, scale: float, x: float) -> Panel:
        losses = PseudoHuberLosses(dim=2, center=norm, noise_scale=_NOISE, loss_scale=scale)
        return Panel(title, losses, x=x, bound=visible_bound(norm, scale, horizon))

    over_u = {name: panel(f"||u|| = {norm:g}, G = 1", norm, 1.0, norm) for name, norm in _NORMS.items()}
    over_g = {name: panel(f"||u|| = 4, G = {scale:g}", _NORM, scale, scale) for name, scale in _SCALES.items()}
    return over_u | over_g


def _learner(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, horizon
    return {"CLA-OONS": CLAOONS(dim=panel.environment.dim)}


TERMS = STUDY.experiment(
    "terms",
    "Theorem 4.5",
    title="regret of CLA-OONS, and all terms of its bound: pseudo-Huber losses on R^2",
    horizon=HORIZON,
    seeds=64,
    presets={"theory": "every constant as the paper states it"},
    algorithms=_learner,
    panels=_panels,
    tabulated=("share_of_bound",),
    derive=share_of_bound,
    record_points=("log", 40),
    claims=(
        *observations("within-bound", mean("CLA-OONS", of="share_of_bound") < 1.0, on=(*_NORMS, *_SCALES),
                      says="the regret of CLA-OONS ends below the sum of the terms of its bound, with 1 for hidden "
                      "constants and logarithms",
                      place="Theorem 4.5"),
        *(
            claim
            for id, axis, panels, law in (
                ("grows-with-norm", "||u||", _NORMS, lambda norm: visible_bound(norm, 1.0, HORIZON)),
                ("grows-with-scale", "G", _SCALES, lambda scale: visible_bound(_NORM, scale, HORIZON)),
            )
            for claim in observations(
                id,
                growth_over(panels, axis, "CLA-OONS") < exponent_of(law, list(panels.values())),
                says=f"as {axis} grows, the regret of CLA-OONS grows no faster than the sum of the terms of its bound",
                place="Theorem 4.5 (an upper bound)",
            )
        ),
    ),
    notes=(
        "The terms are ||u||^2 (sqrt(sigma^2) + sqrt(Sigma^2)), G^2 ||u||^2, ||u||^4, G ||u||^3 and G^2 sqrt(sigma + "
        "frak-G), where sigma is the sum of the standard deviations of the gradients and frak-G (the paper's Fraktur "
        "G) that of the largest norms of the mean gradients. At G = 1 the largest term is the last one for ||u|| = 1, "
        "the first one for ||u|| = 4, and ||u||^4 for ||u|| = 16 and 64. As G grows, the last term dominates, which is "
        "of order G^2.5.",
        "Regret is against u = ||u|| e_1, the minimiser of the mean loss; losses multiplied by G have gradients of "
        "norm up to G. The bound hides constants and logarithms; setting them to 1 is our reading.",
    ),
    figures=(Against("||u||, or G"), Curves(logarithmic=True)),
)
