"""A digest of what was traced: equal in every process for equal computations, another one for any other."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.custom_batching import custom_vmap
from jax.extend.core import Primitive

from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.base.pytree import as_arrays
from jaxbandits.engine.program import TraceCache
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.tracing import batching
from jaxbandits.tracing.traces import trace_digest

X = jax.ShapeDtypeStruct((3,), np.float32)


def digest(function, *args):
    """Return the text of an exact digest, None for any other."""
    return text_if_exact(trace_digest(jax.make_jaxpr(function)(*(args or (X,)))))


def text_if_exact(digest):
    return digest.text if digest.is_exact else None


my_primitive = Primitive("neg")  # as one of JAX is called
my_primitive.def_abstract_eval(lambda x, **parameters: x)


def digest_with(parameter):
    """Of an operation with any parameter, which JAX would not take everywhere."""
    closed = jax.make_jaxpr(lambda x: -x)(X)
    eqn = closed.jaxpr.eqns[0].replace(params={"parameter": parameter})
    return text_if_exact(trace_digest(closed.replace(jaxpr=closed.jaxpr.replace(eqns=[eqn]))))


class Pair(NamedTuple):
    first: jax.Array
    second: jax.Array


def _branches(order):
    f, g = (jnp.sin, jnp.cos)[::order]
    return lambda x: lax.cond(x[0] > 0, f, g, x)


def _with_rule(scale):
    @custom_vmap
    def double(x):
        return 2.0 * x

    @double.def_vmap
    def rule(size, batched, x):
        del size
        return scale * x, batched[0]

    return double


def test_other_computations_have_other_digests():
    table = np.arange(100.0, dtype=np.float32)
    functions = [
        lambda x: x + x,
        lambda x: x * x,
        lambda x: 0.1 * x,
        lambda x: 0.2 * x,
        lambda x: jnp.float32(0.1) * x[0],
        lambda x: x[::-1] - x,
        lambda x: x - x[::-1],
        lambda x: x + jnp.sum(table[:50]),
        lambda x: x + jnp.sum(table[1:51]),  # in a repr both would be elided
        lambda x: x + jnp.asarray(table)[:3],
        lambda x: lax.fori_loop(0, 3, lambda i, y: y * i, x),
        lambda x: lax.fori_loop(0, 4, lambda i, y: y * i, x),
        lambda x: lax.fori_loop(0, 3, lambda i, y: y - i, x),
        lambda x: lax.while_loop(lambda y: y[0] < 1, jnp.exp, x),
        lambda x: lax.while_loop(lambda y: y[0] < 2, jnp.exp, x),
        lambda x: lax.scan(lambda c, y: (c + y, c), 0.0, x),
        lambda x: lax.scan(lambda c, y: (c + y, c), 0.0, x, reverse=True),
        lambda x: (x, x[0]),
        lambda x: (x[0], x),
        lambda x: x.astype(jnp.bfloat16),
        lambda x: jax.random.normal(jax.random.key(0), (3,)) + x,
        lambda x: jax.random.normal(jax.random.key(1), (3,)) + x,
        lambda x: batching.while_loop(lambda y: y[0] < 1, jnp.exp, x),
        _branches(1),
        _branches(-1),
    ]
    found = [digest(function) for function in functions]
    assert None not in found
    assert len(set(found)) == len(functions)


def test_shapes_and_types_count():
    shapes = [X, jax.ShapeDtypeStruct((4,), np.float32), jax.ShapeDtypeStruct((3,), np.int32)]
    assert len({digest(lambda x: x[0] + x[1], shape) for shape in shapes}) == 3
    assert digest(lambda x: x + 1.0, jax.ShapeDtypeStruct((), np.float32)) != digest(lambda x: x + 1.0)


def test_names_and_objects_do_not_count():
    def one(x):
        first = jnp.exp(x)
        return Pair(first, jnp.tanh(first) + 0.5)

    def other(y):
        e = jnp.exp(y)
        return e, jnp.tanh(e) + 0.5

    assert digest(one) == digest(other) == digest(lambda x: one(x))


def test_code_that_a_jaxpr_does_not_show_has_no_exact_digest():
    class Silent:
        """Its repr is an address."""

        def __hash__(self):
            return 1

    def called_back(x):
        return jax.pure_callback(lambda x: np.asarray(x), X, x)

    def prints(x):
        jax.debug.print("{}", x[0])
        return x

    silent = Silent()

    @custom_vmap
    def double(x):
        return 2.0 * x

    @double.def_vmap
    def rule(size, batched, x):
        assert silent is not None
        return 2.0 * x, batched[0]

    def in_a_loop(x):
        return lax.fori_loop(0, 3, lambda i, x: double(x), x)

    for function in (called_back, prints, double, in_a_loop, lambda x: my_primitive.bind(x), _with_rule(2.0)):
        assert digest(function) is None
    for parameter in (silent, jax.tree_util.Partial(prints), [silent], {"a": silent}, lambda x: x, Pair):
        assert digest_with(parameter) is None


def test_parameters_of_every_kind_count():
    parameters = [
        None, True, 1, 1.0, "1", b"1", (1,), [1], (1, 1), {"a": 1}, {"a": 2}, {"b": 1}, frozenset((1,)), math.inf,
        math.nan, np.dtype("int32"), np.dtype("int64"), np.int32(1), np.int64(1), np.ones(3), np.ones((3, 1)),
        np.arange(2000), np.arange(2000)[::-1], lax.GatherScatterMode.CLIP, lax.GatherScatterMode.PROMISE_IN_BOUNDS,
        lax.GatherDimensionNumbers((0,), (1,), (1,)), lax.GatherDimensionNumbers((1,), (0,), (0,)), jnp.sin, jnp.cos,
        jax.random.key(0), jax.random.key(1), jax.make_jaxpr(jnp.sin)(1.0), jax.make_jaxpr(jnp.cos)(1.0),
    ]  # fmt: skip

    found = [digest_with(parameter) for parameter in parameters]
    assert None not in found and len(set(found)) == len(parameters)
    assert [digest_with(parameter) for parameter in parameters] == found


def test_digests_that_are_not_exact_tell_programs_apart_too():
    def of(scale):
        return trace_digest(jax.make_jaxpr(lambda x: _with_rule(2.0)(scale * x))(X))

    assert of(1.5) == of(1.5) != of(2.5) and not of(1.5).is_exact


@pytest.mark.quick_cases(
    "armed/ucb1", "armed/thompson_beta", "armed/restarting", "contextual/*", "linear/hvt_ucb", "linear/lin_ts",
    "linear/phased_elimination", "glm/glb_omd", "glm/glm_ts", "oco/ca_oons", "oco/optax_learner",
    "coco/ofw_tvc", "dro/online",
)  # fmt: skip
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_learner_has_one_and_its_own(name):
    entry = ALGORITHMS[name]
    for environment in entry.environments:
        trial = TraceCache().get((), *map(as_arrays, (entry.example, ENVIRONMENTS[environment].example)))
        traces = (trial.init_environment, trial.init_algorithm, trial.play_round)
        digests = [text_if_exact(trace.digest) for trace in traces]
        assert None not in digests and len(set(digests)) == 3
