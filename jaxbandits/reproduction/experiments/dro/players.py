"""Theorems 3, 4, 6, 7 and 14 of Zhang et al.: regrets of the two players on Example 1, and their bounds."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.analysis.trials import Trials
from jaxbandits.base.pytree import Fields
from jaxbandits.dro import AnytimeOnline, ATkROk, Online
from jaxbandits.reproduction.engine import Claim, Curves, Learner, Learners, Panel
from jaxbandits.reproduction.experiments.dro import bounds, setting
from jaxbandits.reproduction.sentences import mean, share, slug, theorems
from jaxbandits.simulation import Meter, Round
from jaxbandits.theory import dro as theory

_Bounds = Callable[..., tuple[float, float]]


class _Player(NamedTuple):
    """Player of a learner, with the theorem about its regret."""

    source: str
    bounds: _Bounds


PLAYERS: Mapping[type, tuple[_Player, _Player]] = {  # theorems on the model and on the weights, by learner
    Online: (_Player("Theorem 3", theory.theorem_3), _Player("Theorem 4", theory.theorem_4)),
    AnytimeOnline: (_Player("Theorem 6", theory.theorem_6), _Player("Theorem 7", theory.theorem_7)),
    ATkROk: (_Player("Theorem 3; Section 5.3", theory.theorem_3), _Player("Theorem 14", theory.theorem_14)),
}
LABELS = {"Online(1)": "max", "Online(1)_a": "max", "ATkRO(k)": "top-5"}  # panel by label
_METRICS = ("model", "weights")


def _weight(r: Round) -> jax.Array:
    """Return the weight of a round in the regrets, up to a factor: eta_t of (30) for anytime variants, else 1."""
    return 1.0 / jnp.sqrt(r.t + 1.0) if isinstance(r.algorithm, AnytimeOnline) else jnp.ones(())


def _meter(measure: Callable[[jax.Array, jax.Array, jax.Array], Any]) -> Callable[[Round], Any]:
    """Return a function of a round for a meter: `measure` of w_t, q_t and the group means mu, times the weight."""

    def of(r: Round) -> jax.Array:
        return _weight(r) * measure(r.decision.play[0], r.decision.weights, jnp.asarray(r.environment.means))

    return of


def _with_regrets(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    """Compute the regrets of both players per round, and divide them by their bounds.

    The risks are R_i(w) = w^2 - 2 mu_i w + mu_i. The regret of the model is measured against c (1 - c), where c is the
    mean of sum_i q_i mu_i over the rounds. The regret of the weights is measured against the mean of the k largest of
    m_2 - 2 mu_i m_1 + mu_i, where m_1 and m_2 are the means of w and w^2 over the rounds.
    """
    environment = panel.environment
    total = trials.get("weight")
    phi, center, first, second = (trials.get(name) / total for name in ("phi", "center", "play", "play_squared"))
    means = np.asarray(environment.means)
    risks = second[..., None] - 2.0 * means * first[..., None] + means  # [H, S, M, m]
    worst = np.sort(risks, axis=-1)[..., -environment.top_k :].mean(axis=-1)
    at = np.full_like(trials.record_points, trials.horizon) if hasattr(algorithm, "horizon") else trials.record_points
    constants = {"product": bounds.PRODUCT, "delta": bounds.DELTA}
    found = {"model_regret": phi - center * (1.0 - center), "weights_regret": worst - phi}
    for name, player in zip(_METRICS, PLAYERS[type(algorithm)], strict=True):
        pairs = [player.bounds(environment.n_groups, float(t), environment.top_k, **constants) for t in at]
        mean, likely = np.array(pairs).T
        regret = found[f"{name}_regret"]
        found |= {f"{name}_share_of_mean": regret / mean, f"{name}_share_of_likely": regret / likely}
    return found


def _algorithms(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset
    learners = bounds.learners(horizon, panel)
    return {label: learners[label] for label in LABELS if label in learners}


def _claims() -> Iterable[Claim]:
    likely = f"with probability at least 1 - delta = {1.0 - bounds.DELTA:g}"
    for label, panel in LABELS.items():
        for name, player in zip(_METRICS, PLAYERS[bounds.THEOREMS[label].learner], strict=True):
            at: Fields = {"on": panel, "least": bounds.TRIALS, "place": player.source}
            yield from theorems(f"{slug(label)}-{name}-mean", mean(label, of=f"{name}_share_of_mean") < 1.0,
                                says=f"the mean regret of the {name} of {{label}} is below its bound", **at)
            yield from theorems(f"{slug(label)}-{name}-likely",
                                share(label, of=f"{name}_share_of_likely") > 1.0 - bounds.DELTA,
                                says=f"the regret of the {name} of {{label}} is below its bound {likely}",
                                **at)


PLAYERS_OF_EXAMPLE_1 = setting.THEOREMS.experiment(
    "players",
    "Theorems 3, 4, 6, 7 and 14",
    title="regrets of the two players (model and weights) and their bounds on Example 1",
    horizon=bounds.HORIZON,
    seeds=bounds.TRIALS,
    presets={"theory": "the step sizes of the theorems for D^2 = 1/2, G = 2"},
    algorithms=_algorithms,
    panels=bounds.panels,
    metric="model_regret",
    tabulated=("weights_regret", *(f"{name}_share_of_likely" for name in _METRICS)),
    meters=(
        Meter("weight", _weight),
        Meter("phi", _meter(lambda w, q, mu: jnp.sum(q * (w * w - 2.0 * mu * w + mu)))),
        Meter("center", _meter(lambda w, q, mu: jnp.sum(q * mu))),
        Meter("play", _meter(lambda w, q, mu: w)),
        Meter("play_squared", _meter(lambda w, q, mu: w * w)),
    ),
    derive=_with_regrets,
    claims=tuple(_claims()),
    notes=(
        "The losses (w - z)^2, the 16 groups, D^2 = 1/2 and G = 2 are those of dro/bounds; a duality gap there is at "
        "most the sum of the two regrets. Regrets are means over the rounds, for anytime variants weighted by the step "
        "sizes as in (31), and are computed exactly.",
        "No regret per round exceeds 1 here, and every bound after T rounds is below 0.4, so a run could violate it. "
        "Bounds for fixed step sizes hold after T rounds.",
        "According to Section 5.3, Theorem 3 also holds for the model of ATkRO(k).",
    ),
    figures=(Curves(metric="model_regret"), Curves(metric="weights_regret", name="weights")),
)
