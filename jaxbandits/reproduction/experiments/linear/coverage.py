"""Lemma 1 of Wang et al. (2025): estimation error of Hvt-UCB divided by its confidence radius."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.linear.hvt_estimator import HvtWeights
from jaxbandits.analysis.trials import Trials
from jaxbandits.base.pytree import Fields
from jaxbandits.diagnostics import linear as meters
from jaxbandits.reproduction.engine import Learner, Panel, Shares
from jaxbandits.reproduction.experiments.linear.setting import EXTRA_SIGMA, LAWS, THEOREMS, THEORY, multipliers_of
from jaxbandits.reproduction.sentences import observations, share, theorems
from jaxbandits.simulation import Meter, Round

_JUDGED: Fields = {"on": LAWS.keys(), "place": "Lemma 1", "least": 1000, "presets": ("theory",)}


def _weights(r: Round) -> HvtWeights:
    return r.algorithm.estimator.weigh(r.t, r.state, r.decision.x, r.feedback.reward, r.feedback.noise_scale)


def _is_clipped(r: Round) -> jax.Array:
    """Return 1 if the Huber loss clips the residual of the round, else 0."""
    weights = _weights(r)
    return jnp.where(jnp.abs(weights.residual) >= weights.threshold, 1.0, 0.0)


def _leverage(r: Round) -> jax.Array:
    """Return 1 if sigma_t is the term that grows with the width of the arm, and 0 if it is nu_t or the lower bound."""
    return jnp.where(_weights(r).scale > r.feedback.noise_scale, 1.0, 0.0)


def _shares_of_rounds(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    del algorithm, panel
    return {f"{name}_share": trials.get(name) / trials.record_points for name in ("clipped", "leverage")}


COVERAGE = THEOREMS.experiment(
    "coverage",
    "Lemma 1",
    title="estimation error divided by the confidence radius",
    presets={**THEORY, "practical": f"tuned multipliers, which no theorem covers: {multipliers_of('hvt_ucb')}"},
    metric="error_ratio",
    tabulated=("clipped_share", "leverage_share"),
    meters=(meters.coverage(), Meter("clipped", _is_clipped), Meter("leverage", _leverage)),
    derive=_shares_of_rounds,
    claims=(
        *theorems("covers", share("Hvt-UCB", of="error_ratio") > 0.99,
                  says="theta* lies in all confidence sets with probability at least 1 - 4 delta", **_JUDGED),
        *observations("radius-loose", share("Hvt-UCB", of="error_ratio", at_most=0.01) > 0.99,
                      says="the radius is loose: the estimation error stays below a hundredth of it", **_JUDGED),
    ),
    notes=(
        "The metric error_ratio is the running maximum of ||theta_{t+1} - theta*||_{V_t} / beta_t. The failure "
        "probability 4 delta = 1/(2T) is 2.8e-5. So small a probability cannot be measured with this number of "
        "trials; the rows test for at most 1 % of failures.",
        "The metric clipped_share is the share of rounds in which the Huber loss clips the residual. The metric "
        "leverage_share is the share of rounds in which the third term of the maximum in Algorithm 1, which is "
        "proportional to the width of the arm, determines sigma_t.",
    ),
    interpretations={"extra-sigma": EXTRA_SIGMA},
    figures=(Shares(),),
)
