"""Advice on speed: a textbook learner gets some, one in the functions of the library none."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits import OFUL, HeavyTailed
from jaxbandits.core.pytree import param, pytree, static
from jaxbandits.testing import contract, speed
from jaxbandits.types import ArmDecision, Reward

ENVIRONMENT = HeavyTailed(dim=3, n_arms=5)


class GramState(NamedTuple):
    gram: jax.Array
    moment: jax.Array


@pytree
class TextbookLinUCB:
    """Linear UCB as one writes it down."""

    feedback: ClassVar[type] = Reward
    dim: int = static(3, "[1, inf)", "d")
    width: Any = param(1.0, "[0, inf)", "of the intervals")

    def init(self, key):
        return GramState(jnp.eye(self.dim), jnp.zeros(self.dim))

    def select(self, key, t, state, obs):
        inverse = jnp.linalg.inv(state.gram)
        spread = jnp.sqrt(jnp.einsum("kd,de,ke->k", obs.arms, inverse, obs.arms))
        index = jnp.argmax(obs.arms @ (inverse @ state.moment) + self.width * spread)
        return ArmDecision(index, obs.arms[index])

    def update(self, key, t, state, obs, decision, feedback):
        x = decision.x
        return GramState(state.gram + jnp.outer(x, x), state.moment + feedback.reward * x)


@pytree
class Large(TextbookLinUCB):
    """Products of long vectors are left alone: a call for each is worth it."""

    def select(self, key, t, state, obs):
        return ArmDecision(jnp.int32(0), state.gram @ state.moment)


def test_a_textbook_learner_is_told_what_would_be_faster():
    first, second = speed.advice(TextbookLinUCB(), ENVIRONMENT)
    for counted in ("small products", "LAPACK calls", "gathers", "transposes"):
        assert counted in first
    assert "TextbookLinUCB works on one trial at a time" in first
    for better in ("linalg.inner, matvec, quad", "jaxbandits.factored", "best_arm, best_scored"):
        assert better in second
    assert max(len(first), len(second)) <= 150
    found = speed.slow_parts(speed.compiled_learner(TextbookLinUCB(), ENVIRONMENT))
    assert found["products"] >= 3 and found["solves"] >= 1 and found["gathers"] >= 1 and found["moves"] > 4


def test_a_learner_in_our_functions_is_told_nothing():
    assert speed.advice(OFUL(dim=3), ENVIRONMENT) == ()


def test_long_products_are_no_fault():
    for dim, found in ((8, 1), (100, 0)):
        text = speed.compiled_learner(Large(dim=dim), HeavyTailed(dim=dim, n_arms=2))
        assert speed.slow_parts(text).get("products", 0) == found


def test_check_algorithm_prints_the_advice(capsys, monkeypatch):
    monkeypatch.setattr(contract, "ALGORITHM_CHECKS", ())  # they have tests of their own
    contract.check_algorithm(TextbookLinUCB(), ENVIRONMENT)
    assert capsys.readouterr().out.splitlines() == list(speed.advice(TextbookLinUCB(), ENVIRONMENT))
    contract.check_algorithm(OFUL(dim=3), ENVIRONMENT)
    assert capsys.readouterr().out == ""
