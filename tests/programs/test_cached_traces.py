"""Code of others is traced without JAX's caches, that of this package with them where they may serve."""

import itertools

import jax
import jax.numpy as jnp
import pytest

from jaxbandits import armed
from jaxbandits.programs import cached_traces
from jaxbandits.programs.cached_traces import ignore_cached_traces, own_code
from jaxbandits.programs.patches import LibraryCode
from jaxbandits.tracing import jax_compat
from tests.toy_problems import Shrink

OWN, FOREIGN = armed.UCB1(n_arms=2), Shrink()


@pytest.mark.parametrize(
    ("serve_own_code", "objects", "times"),
    [(True, [OWN], 0), (True, [], 0), (True, [OWN, FOREIGN], 1), (False, [OWN], 1)],
)
def test_caches_serve_own_code_where_they_may(serve_own_code, objects, times, monkeypatch):
    monkeypatch.setattr(jax_compat, "_contexts", itertools.count(1))  # every 50th context clears the caches
    traced = []
    jitted = jax.jit(lambda x: (traced.append(1), x + 1.0)[1])
    with ignore_cached_traces(serve_own_code=False):
        pass  # the first one in a process adds a setting to JAX, with which its caches begin anew
    jitted.trace(1.0)
    traced.clear()
    with ignore_cached_traces(serve_own_code=serve_own_code), own_code(*objects):
        jitted.trace(1.0)
    assert len(traced) == times


@pytest.mark.parametrize("serve_own_code", [True, False])
@pytest.mark.parametrize("is_original", [True, False])
def test_caches_serve_functions_of_jax_that_foreign_code_calls(serve_own_code, is_original, monkeypatch):
    monkeypatch.setattr(jax_compat, "_contexts", itertools.count(1))  # every 50th context clears the caches
    monkeypatch.setattr(cached_traces, "_libraries", LibraryCode())
    if not is_original:
        monkeypatch.setattr(jnp, "where", lambda *args, where=jnp.where: where(*args))

    def trace_of_where():
        (eqn,) = jax.make_jaxpr(lambda x: jnp.where(x, x, x))(True).jaxpr.eqns
        return eqn.params["jaxpr"]

    with ignore_cached_traces(serve_own_code=False):
        pass  # as above
    before = trace_of_where()
    with ignore_cached_traces(serve_own_code=serve_own_code):
        assert (trace_of_where() is before) == is_original


def test_without_a_trace_anew_nothing_changes():
    traced = []
    jitted = jax.jit(lambda x: (traced.append(1), x + 1.0)[1])
    for _ in range(2):
        with own_code(OWN):
            jitted.trace(1.0)
    assert len(traced) == 1
