"""Advice on speed: which equations of a learner have no rule for trials side by side."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits import OFUL, HeavyTailed, rng
from jaxbandits.base.pytree import param, pytree, static
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
class Plain(TextbookLinUCB):
    """The same with the inverse kept: every equation of it has a rule."""

    def select(self, key, t, state, obs):
        spread = jnp.sqrt(jnp.einsum("kd,de,ke->k", obs.arms, state.gram, obs.arms))
        index = jnp.argmax(obs.arms @ (state.gram @ state.moment) + self.width * spread)
        return ArmDecision(index, obs.arms[index])

    def update(self, key, t, state, obs, decision, feedback):
        u = state.gram @ decision.x
        gram = state.gram - jnp.outer(u, u) * (1.0 / (1.0 + decision.x @ u))
        return GramState(gram, state.moment + feedback.reward * decision.x)


@pytree
class Transforming(Plain):
    """Calls a primitive without a rule, twice on one line."""

    def select(self, key, t, state, obs):
        spectrum = jnp.abs(jnp.fft.fft(state.moment)) + jnp.abs(jnp.fft.fft(state.gram[0]))
        index = jnp.argmax(obs.arms @ spectrum)
        return ArmDecision(index, obs.arms[index])


def test_a_plain_learner_has_a_rule_for_every_equation():
    assert speed.vmap_fallbacks(Plain(), ENVIRONMENT) == []
    assert speed.advice(Plain(), ENVIRONMENT) == speed.advice(OFUL(dim=3), ENVIRONMENT) == ()


def test_equations_without_a_rule_are_named_with_their_line():
    ((name, count, where),) = speed.vmap_fallbacks(Transforming(), ENVIRONMENT)
    assert (name, count) == ("fft", 2) and where.startswith("test_speed.py:")
    (line,) = speed.advice(Transforming(), ENVIRONMENT)
    assert line == f"Transforming runs these primitives on one trial at a time: fft x2 at {where}"


@pytree
class Drawing(Plain):
    """Draws from the package's generator and stacks arrays: nothing of it is slow."""

    def select(self, key, t, state, obs):
        first, second = jax.random.split(key)
        noise = jnp.stack([rng.normal(first), jax.random.uniform(second), rng.uniform(first, counter=1)])
        index = jnp.argmax(obs.arms @ (state.moment + noise))
        return ArmDecision(index, obs.arms[index])


def test_the_generator_of_the_package_is_not_blamed():
    assert speed.advice(Drawing(), ENVIRONMENT) == ()


@pytree
class CostlyForm(Plain):
    """Writes three things in a form that has rules and costs more than another one."""

    def select(self, key, t, state, obs):
        scores = obs.arms @ state.moment / jnp.sum(state.moment)
        index = jax.random.categorical(key, scores)
        index = jnp.where(t > 5, jnp.lexsort((scores, scores))[0], index)
        return ArmDecision(index, obs.arms[index])

    def update(self, key, t, state, obs, decision, feedback):
        u = state.gram @ decision.x
        return GramState(state.gram / (1.0 + decision.x @ u) / 3.0, state.moment + feedback.reward * decision.x)


def test_what_costs_more_than_need_be_is_named_with_the_faster_form():
    lines = speed.advice(CostlyForm(), ENVIRONMENT)
    for line, start, remedy in zip(
        lines,
        (
            "CostlyForm runs these primitives on one trial at a time: sort at",
            "sort: ",
            *("CostlyForm at test_speed.py:",) * 3,
        ),
        ("test_speed.py", "jnp.argsort(-u)[:m]", "x * (1.0 / s)", "x * (1.0 / s)", "jnp.cumsum(p)"),
        strict=True,
    ):
        assert line.startswith(start) and remedy in line, line
    assert " divides 5 entries by one number" in lines[2] and " divides 9 entries by one number" in lines[3]


def test_check_algorithm_prints_the_advice(capsys, monkeypatch):
    monkeypatch.setattr(contract, "ALGORITHM_CHECKS", ())  # they have tests of their own
    contract.check_algorithm(Transforming(), ENVIRONMENT)
    advice, verdict = capsys.readouterr().out.splitlines()
    assert [advice] == list(speed.advice(Transforming(), ENVIRONMENT))
    assert verdict == "Transforming on HeavyTailed: obeys the contract (0 checks)"
    contract.check_algorithm(OFUL(dim=3), ENVIRONMENT)
    assert capsys.readouterr().out == "OFUL on HeavyTailed: obeys the contract (0 checks)\n"
