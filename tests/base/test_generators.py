"""Generators that code can reach are found, and draws from them during tracing are refused."""

import random
import types

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import simulate
from jaxbandits.armed import UCB1, BernoulliArms
from jaxbandits.base.errors import InputError
from jaxbandits.base.generators import generator_states, generators_of
from jaxbandits.base.pytree import pytree
from jaxbandits.testing import contract

GLOBAL = np.random.default_rng(1)
MODULE = types.ModuleType("module_with_a_generator")
MODULE.source = random.Random(3)


def draw_by_a_helper():
    return sum(GLOBAL.random() for _ in range(2))


def learner_that_draws(draw):
    """Return a learner whose trace is always the same, although it draws."""

    @pytree
    class Draws(UCB1):
        def index(self, key, t, state):
            return super().index(key, t, state) + jnp.asarray(float(draw() > 2.0))

    return Draws(n_arms=3)


def closures():
    own, legacy = np.random.default_rng(2), np.random.RandomState(2)
    return {
        "closure": lambda: own.random(),
        "legacy": lambda: legacy.random_sample(),
        "helper": draw_by_a_helper,
        "module": lambda: MODULE.source.random(),
        "default": lambda source=own: source.random(),
    }


@pytest.mark.parametrize("kind", closures())
def test_a_draw_during_tracing_is_refused_although_the_trace_does_not_change(kind):
    learner, environment = learner_that_draws(closures()[kind]), BernoulliArms(n_arms=3)
    with pytest.raises(AssertionError, match="drawn once and never change"):
        contract.select_is_read_only(learner, environment)
    with pytest.raises(InputError):
        simulate(learner, environment, 5, 2, progress=False, width=1)


def test_a_generator_that_tracing_does_not_use_is_no_problem():
    before = generator_states([GLOBAL])
    learner = learner_that_draws(lambda: 0.0 if GLOBAL else 1.0)
    assert generators_of(learner) == [GLOBAL]
    (trials,) = simulate(learner, BernoulliArms(n_arms=3), 5, 2, progress=False, width=1).trials.values()
    assert trials.healthy.all() and generator_states([GLOBAL]) == before


def test_a_large_object_is_not_searched_to_its_end():
    assert generators_of([{"a": list(map(str, range(30_000)))}, GLOBAL]) in ([], [GLOBAL])
    assert generators_of(UCB1(n_arms=3)) == []
