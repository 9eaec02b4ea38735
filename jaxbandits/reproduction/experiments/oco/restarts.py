"""Number of restarts of CLA-OONS, and growth of the radius of its ball."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.analysis.trials import Trials
from jaxbandits.oco import CLAOONS, LinearLosses, PseudoHuberLosses
from jaxbandits.reproduction.engine import Curves, Learner, Learners, Panel
from jaxbandits.reproduction.experiments.oco.setting import THEOREMS, THEORY
from jaxbandits.reproduction.sentences import observations, share, share_for_all, theorems
from jaxbandits.simulation import Meter, Round


def is_restart(played: Round) -> jax.Array:
    """Return 1 if CLA-OONS restarts in this round, that is, if D_{t+1} > D_t, else 0 (shape `[]`)."""
    return jnp.where(played.next_state.bound > played.state.bound, 1.0, 0.0)


def shares(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    """Return the number of restarts and the radius D_t at record points t as shares of their claimed bounds.

    In these bounds T is replaced by t. The metric `log2_of_rounds` is the x-axis of the figures.
    """
    del algorithm, panel
    rounds = np.maximum(trials.record_points, 2).astype(float)
    restarts, radius = trials.get("restarts"), trials.get("radius")
    return {
        "restarts_over_log": restarts / np.log2(rounds),
        "restarts_over_half_log": restarts / (0.5 * np.log2(rounds) + 2.0),
        "radius_over_root": radius / np.sqrt(rounds),
        "log2_of_rounds": np.broadcast_to(np.log2(trials.record_points), restarts.shape),
    }


def _panels(horizon: int) -> Mapping[str, Panel]:
    del horizon

    def linear(scale: float) -> LinearLosses:
        return LinearLosses(dim=2, mean=0.2, noise_scale=0.8, loss_scale=scale, comparator=-2.0)

    return {
        "linear": Panel("linear, i.i.d., G = 1", linear(1.0)),
        "small": Panel("linear, i.i.d., G = 0.01", linear(0.01)),
        "large": Panel("linear, i.i.d., G = 100", linear(100.0)),
        "curved": Panel("pseudo-Huber, ||u|| = 4, s = 0.2", PseudoHuberLosses(dim=2, center=4.0, noise_scale=0.2)),
    }


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, horizon
    dim = panel.environment.dim
    return {"CLA-OONS": CLAOONS(dim=dim), "CLA-OONS, practical": CLAOONS.practical(dim=dim)}


_ROWS = {"on": ("linear", "small", "large", "curved"), "least": 200}

RESTARTS = THEOREMS.experiment(
    "restarts",
    "Section 4.2 and Appendix E",
    title="restarts of CLA-OONS, and the radius of its ball",
    horizon=2**15,
    seeds=704,
    presets=THEORY,
    algorithms=_learners,
    panels=_panels,
    metric="restarts",
    tabulated=("radius_over_root",),
    record_points=("log", 60),
    meters=(Meter("restarts", is_restart, "sum"), Meter("radius", lambda r: r.state.bound, "last")),
    derive=shares,
    claims=(
        *theorems("few-updates", share("CLA-OONS", of="restarts_over_log") > share_for_all(200),
                  says="D_t is updated at most O(log T) times, read as log2(T) times", place="Section 4.2", **_ROWS),
        *observations("half-as-many", share("CLA-OONS", of="restarts_over_half_log") > share_for_all(200),
                      says="D_t is updated at most log2(T) / 2 + 2 times", place="Appendix E", **_ROWS),
        *theorems("radius-as-printed", share("CLA-OONS", of="radius_over_root") > share_for_all(200),
                  says="max D_t < sqrt(T), as printed", place="Appendix E", **_ROWS),
        *observations("radius-as-updated", share("CLA-OONS", of="radius_over_root", at_most=2.0) > share_for_all(200),
                      says="max D_t <= 2 sqrt(T), which follows from the update", place="Appendix E", **_ROWS),
    ),
    notes=(
        "D_t is the radius of the ball. At every restart it at least doubles, and after every round D_t^2 is at least "
        "the sum of the norms of the past gradients, each divided by the largest up to its round (or by 1 if this is "
        "larger). If all gradients have the same length of at least 1, this sum is T - 1 in round T, so D_T is at "
        "least sqrt(T - 1).",
        "Radii are those at the record points. Gradients shorter than 1 are not normalised, so with G = 0.01 "
        "the ball takes a hundred times as many rounds to grow.",
    ),
    figures=(
        Curves(x="log2_of_rounds"),
        Curves(metric="radius_over_root", x="log2_of_rounds", limit=2.0, name="radius"),
    ),
)
