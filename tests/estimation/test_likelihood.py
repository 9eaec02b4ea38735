"""The log-likelihood in both forms of its data, against NumPy sums and JAX's own derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.estimation import likelihood
from jaxbandits.estimation.likelihood import Likelihood
from jaxbandits.estimation.links import Bernoulli, Exponential, Gaussian, Poisson
from jaxbandits.types import ArmDecision
from tests.reference import glb_omd, glm_mle

LINKS = {"gaussian": Gaussian(variance=0.5), "bernoulli": Bernoulli(), "poisson": Poisson()}
FAMILIES = glb_omd.FAMILIES | {"gaussian": glb_omd.gaussian(0.5)}
K = 4


def arms_of(rng, d):
    u = rng.standard_normal((K, d))
    return u / np.linalg.norm(u, axis=1, keepdims=True) * rng.random((K, 1)) ** (1.0 / d)


def record_rounds(data, X, index, rewards, members=None):
    """The arms [K, d] played by index, or other arms [T, d] each round."""
    members = np.ones(len(index)) if members is None else members

    def one(data, row):
        t, k, r, member = row
        arms = jnp.asarray(X)
        decision = ArmDecision(k, jax.tree.map(lambda a: a[k], arms))
        return likelihood.record(data, t, arms, decision, r, member), None

    rows = jnp.arange(len(index), dtype=jnp.int32), jnp.asarray(index), jnp.asarray(rewards), jnp.asarray(members)
    return jax.jit(lambda data: jax.lax.scan(one, data, rows)[0])(data)


@pytest.mark.quick_cases("3-history-bernoulli")
@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize(("d", "form"), [(1, "counts"), (3, "counts"), (3, "history"), (14, "counts"), (14, "history")])
def test_value_gradient_hessian(name, d, form, rng):
    """150 rounds (more than one block), a fifth of them not members; several points at once."""
    X, index = arms_of(rng, d), rng.integers(K, size=150)
    star, rewards = rng.standard_normal(d), rng.poisson(2.0, 150).astype(float)
    members = (rng.random(150) < 0.8).astype(float)
    empty = likelihood.empty(d, n_arms=K) if form == "counts" else likelihood.empty(d, capacity=160)
    data = record_rounds(empty, X, index, rewards, members)
    used = members > 0
    loss = glm_mle.Loss(FAMILIES[name], X[index[used]], rewards[used], lam=0.3)
    points = rng.standard_normal((5, d))

    @jax.jit
    def evaluate(points):
        L = Likelihood(LINKS[name], data, jnp.int32(150), 0.3, jnp.asarray(star))
        at = jax.jit(jax.vmap(L))(points)
        # by differentiation of the value alone
        value = jax.jit(jax.vmap(jax.grad(lambda th: L(th).value)))(points) if form == "counts" else None
        return at.value, at.gradient, at.hessian, value

    values, gradients, hessians, differentiated = evaluate(jnp.asarray(points))
    for i, th in enumerate(points):
        np.testing.assert_allclose(values[i], loss.value(th) - loss.value(star), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(gradients[i], loss.gradient(th), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(hessians[i], loss.hessian(th), rtol=1e-11, atol=1e-11)
    if differentiated is not None:
        np.testing.assert_allclose(differentiated, gradients, rtol=1e-9, atol=1e-9)


def test_a_difference_small_beside_the_sum_keeps_its_digits(rng):
    """L is about 5e6 here; a step of 1e-9 changes it by 1e-3, which subtraction of two sums would give to 6 digits."""
    X, star = arms_of(rng, 2), rng.standard_normal(2)
    counts, totals = np.full(K, 1e7), np.full(K, 3e6)
    data = likelihood.Pulls(jnp.asarray(X), jnp.asarray(counts), jnp.asarray(totals))
    step = 1e-9 * rng.standard_normal(2)
    L = Likelihood(Bernoulli(), data, 1, None, jnp.asarray(star))
    value = float(L(jnp.asarray(star + step)).value)
    z, dz = (X @ star).astype(np.longdouble), (X @ ((star + step) - star)).astype(np.longdouble)
    mean = 1 / (1 + np.exp(-z))
    exact = np.sum(counts * (mean * dz + mean * (1 - mean) * dz**2 / 2) - totals * dz)
    rounding = np.finfo(float).eps * float(np.sum(counts * (np.log1p(np.exp(z)) + np.abs(z))))  # of A(z) and of z
    assert value == pytest.approx(float(exact), rel=0.0, abs=rounding)


def test_arms_that_change_under_counts_make_every_later_value_nan(rng):
    X = arms_of(rng, 2)
    other = X.copy()
    other[3, 1] = np.nextafter(other[3, 1], 1.0)  # one bit, in an arm that is not played
    data, values = likelihood.empty(2, n_arms=K), []
    record = jax.jit(likelihood.record)
    for t, shown in enumerate((X, X, other, X)):
        arms = jnp.asarray(shown)
        data = record(data, jnp.int32(t), arms, ArmDecision(jnp.int32(0), jnp.asarray(shown[0])), 1.0)
        L = Likelihood(Bernoulli(), data, t + 1, None, jnp.zeros(2))
        values.append(float(L(jnp.ones(2)).value))
    np.testing.assert_array_equal(np.isnan(values), [False, False, True, True])


@pytest.mark.parametrize("order", [[2, 0, 1, 3], [3, 1, 2, 0]])
def test_counts_do_not_depend_on_the_order_of_rounds(order, rng):
    """With random delays the feedback of round 0 may come after that of other rounds."""
    X, index, rewards = jnp.asarray(arms_of(rng, 3)), np.array([0, 2, 2, 1]), np.array([1.0, 0.0, 3.0, 1.0])
    data, members = likelihood.empty(3, n_arms=K), [1.0, 1.0, 1.0, 0.0]
    record = jax.jit(likelihood.record)
    for t in order:
        decision = ArmDecision(jnp.int32(index[t]), X[index[t]])
        data = record(data, jnp.int32(t), X, decision, jnp.asarray(rewards[t]), members[t])
    np.testing.assert_array_equal(data.arms, X)
    np.testing.assert_array_equal(data.counts, [1.0, 0.0, 2.0, 0.0])
    np.testing.assert_array_equal(data.totals, [1.0, 0.0, 3.0, 0.0])


def test_more_rounds_than_the_history_holds_make_every_later_value_nan(rng):
    X = arms_of(rng, 2)
    for rounds in (3, 4, 9):
        data = record_rounds(likelihood.empty(2, capacity=3), X, np.zeros(rounds, int), np.ones(rounds))
        value = Likelihood(Bernoulli(), data, rounds, None, jnp.zeros(2))(jnp.ones(2)).value
        assert np.isnan(value) == (rounds > 3)


def test_what_learners_demand():
    likelihood.check_form("It", 3, None, 100)
    likelihood.check_form("It", None, 100, np.asarray([50.0, 100.0]))
    for n_arms, capacity, message in ((None, None, "neither"), (3, 9, "both")):
        with pytest.raises(InputError, match=f"It needs either n_arms .*, got {message}"):
            likelihood.check_form("It", n_arms, capacity)
    with pytest.raises(InputError, match=r"It\.capacity must be at least the horizon 10, got 9"):
        likelihood.check_form("It", None, 9, 10)
    with pytest.raises(InputError, match=r"It\.link must be a link such as links\.Bernoulli\(\), got int"):
        likelihood.check_link("It", 3, 1.0)
    with pytest.raises(InputError, match="It needs a link that is defined around 0, but Exponential is not"):
        likelihood.check_link("It", Exponential(), 1.0)
    likelihood.check_link("It", Poisson(), 3.0)
