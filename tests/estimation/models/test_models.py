"""Reward models against NumPy references, round by round, on recorded contexts, features, arms and rewards."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.stats as st

from jaxbandits import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.contextual import models
from jaxbandits.estimation.models import protocol
from jaxbandits.estimation.models.kernels import covariance_root
from jaxbandits.numerics import inverse_factors
from jaxbandits.numerics import rng as library_rng
from jaxbandits.oco import OGD
from jaxbandits.tracing.vmap_last import vmap_last
from jaxbandits.types import ArmDecision, ArmObs, ContextObs, FixedArmObs
from tests.reference import contextual as oracle_reference
from tests.reference import reward_models as reference

ROUNDS, K, D = 60, 4, 3
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


@functools.partial(jax.jit, static_argnames=("kind", "methods"))
def replay(model, rows, key, kind, methods):
    """Return the value of each method before every round and the states, with a leading axis `[T]`; the last state."""

    def observation(x, z):
        if kind == "fixed":
            return FixedArmObs(z)
        return ContextObs(x, z) if kind == "context" else ArmObs(z)

    def round_(state, row):
        t, x, z, index, reward = row
        obs = observation(x, z)
        said = {name: getattr(model, name)(state, obs) for name in methods}
        decision = ArmDecision(index, z[index])
        return model.update(jax.random.fold_in(key, t), t, state, obs, decision, reward), (said, state)

    state = model.init(key)
    if hasattr(model, "init_from_obs"):
        state = model.init_from_obs(state, observation(rows[0][0], rows[1][0]))
    last, (said, states) = jax.lax.scan(round_, state, (jnp.arange(ROUNDS, dtype=jnp.int32), *rows))
    return said, states, last


def make_recording(rng, fixed=False):
    """Contexts `[T, D]`, features `[T, K, D]`, arms played `[T]`, rewards `[T]`."""
    x, z = rng.normal(size=(ROUNDS, D)), rng.normal(size=(ROUNDS, K, D))
    if fixed:
        z[:] = z[0]
    index = rng.integers(K, size=ROUNDS).astype(np.int32)
    return x, z, index, rng.normal(size=ROUNDS) + z[np.arange(ROUNDS), index, 0] + x[:, 0] * index


def rows_of(kind, x, z):
    """The features of the arms as rows, of which the references know."""
    if kind == "blocks":
        return reference.blocks(x, K)
    return reference.blocks(x, K, z) if kind == "hybrid" else z


LINEAR = {
    "linear": (models.Linear(dim=D, ridge=0.5, noise_scale=0.7), "arms", "arms", D),
    "linear, fixed arms": (models.Linear(dim=D, ridge=0.5, noise_scale=0.7), "fixed", "arms", D),
    "ridge": (models.Ridge(n_arms=K, dim=D, ridge=0.5, noise_scale=0.7), "context", "blocks", K * D),
    "hybrid": (
        models.Hybrid(n_arms=K, dim=D, shared_dim=D, ridge=0.5, noise_scale=0.7), "context", "hybrid", K * D + D
    ),
    "per arm": (
        models.PerArm(model=models.Linear(dim=D, ridge=0.5, noise_scale=0.7), n_arms=K), "context", "blocks", K * D
    ),
}  # fmt: skip


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", LINEAR)
def test_linear_models_are_ridge_regressions(name, rng, key):
    """Ridge per arm, shared and hybrid: one regression on the vectors of the arms, in blocks."""
    model, kind, arms, size = LINEAR[name]
    x, z, index, reward = rows = make_recording(rng, fixed=kind == "fixed")
    theirs = reference.Ridge(size, 0.5, 0.7)
    said, states, _ = replay(model, rows, key, kind, ("predict", "width"))
    has_information = name != "hybrid"
    gamma = jax.jit(jax.vmap(model.information))(states) if has_information else None
    for t in range(ROUNDS):
        seen = rows_of(arms, x[t], z[t])
        np.testing.assert_allclose(said["predict"][t], theirs.predict(seen), **CLOSE)
        np.testing.assert_allclose(said["width"][t], theirs.width(seen), **CLOSE)
        if gamma is not None:
            np.testing.assert_allclose(gamma[t].sum(), theirs.information(), **CLOSE)
        theirs.update(seen[index[t]], reward[t])


@pytest.mark.slow
@pytest.mark.parametrize("name", LINEAR)
def test_draws_of_linear_models_have_the_law_of_the_posterior(name, rng, key):
    model, kind, arms, size = LINEAR[name]
    x, z, index, reward = rows = make_recording(rng, fixed=kind == "fixed")
    theirs = reference.Ridge(size, 0.5, 0.7)
    for t in range(ROUNDS):
        theirs.update(rows_of(arms, x[t], z[t])[index[t]], reward[t])
    state = replay(model, rows, key, kind, ())[2]
    obs = {"fixed": FixedArmObs(z[0]), "context": ContextObs(x[0], z[0]), "arms": ArmObs(z[0])}[kind]
    seen = rows_of(arms, x[0], z[0])
    draws = np.asarray(
        jax.jit(lambda k: jax.vmap(lambda k: model.sample(k, state, obs))(jax.random.split(k, 20_000)))(key)
    )
    several = np.asarray(jax.jit(lambda k: protocol.samples(model, k, state, obs, 20_000))(key))
    for found in (draws, several):
        check_gaussian(found, theirs.predict(seen), theirs.covariance(seen))


def check_gaussian(draws, mean, covariance):
    """Assert that draws `[n, K]` are N(mean, covariance): by their Mahalanobis distances, means and covariances."""
    n, size = draws.shape
    rank = np.linalg.matrix_rank(covariance, tol=1e-9)
    assert rank == min(size, rank)
    centred = draws - mean
    distances = np.einsum("nk,kj,nj->n", centred, np.linalg.pinv(covariance, rcond=1e-9), centred)
    assert st.kstest(distances, st.chi2(rank).cdf).pvalue > 1e-5
    sd = np.sqrt(np.diag(covariance))
    assert (np.abs(centred.mean(0)) < 5 * sd / np.sqrt(n)).all()
    assert (np.abs(np.cov(draws.T) - covariance) < 6 * np.outer(sd, sd) / np.sqrt(n)).all()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("per_arm", [True, False])
def test_normal_inverse_gamma_posterior(per_arm, rng, key):
    model = models.NormalInverseGamma(dim=D, ridge=0.4, shape=3.0, scale=2.0)
    x, z, index, reward = rows = make_recording(rng)
    kind = "context" if per_arm else "arms"
    copies = [reference.NormalInverseGamma(D, 0.4, 3.0, 2.0) for _ in range(K if per_arm else 1)]
    whole = models.PerArm(model=model, n_arms=K) if per_arm else model
    said, _, state = replay(whole, rows, key, kind, ("predict", "width"))
    for t in range(ROUNDS):
        seen = x[t][None] if per_arm else z[t]
        np.testing.assert_allclose(said["predict"][t], np.concatenate([c.predict(seen) for c in copies]), **CLOSE)
        np.testing.assert_allclose(said["width"][t], np.concatenate([c.width(seen) for c in copies]), **CLOSE)
        copies[index[t] if per_arm else 0].update(x[t] if per_arm else z[t, index[t]], reward[t])
    obs = ContextObs(x[0], z[0]) if per_arm else ArmObs(z[0])
    draw = jax.jit(lambda k: jax.vmap(lambda k: whole.sample(k, state, obs))(jax.random.split(k, 20_000)))
    draws = np.asarray(draw(key))
    for k in range(K):
        copy, seen = (copies[k], x[0][None]) if per_arm else (copies[0], z[0][[k]])
        law = st.t(2 * copy.a, loc=copy.predict(seen)[0], scale=copy.width(seen)[0])
        assert st.kstest(draws[:, k], law.cdf).pvalue > 1e-5


def test_logistic_regression_in_one_pass(rng, key):
    model = models.LogisticRegression(dim=D, ridge=0.8, norm_bound=1.5)
    x, z, index, _ = make_recording(rng)
    reward = (rng.uniform(size=ROUNDS) < 0.5).astype(float)
    reward[:25] = z[np.arange(25), index[:25], 0] > 0  # separable at first, so that the estimate reaches the ball
    theirs = reference.LogisticRegression(D, 0.8, 1.5)
    said, _, state = replay(model, (x, z, index, reward), key, "arms", ("predict", "width"))
    norms = []
    for t in range(ROUNDS):
        np.testing.assert_allclose(said["predict"][t], theirs.predict(z[t]), rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(said["width"][t], theirs.width(z[t]), rtol=1e-8, atol=1e-8)
        theirs.update(z[t, index[t]], reward[t])
        norms.append(np.linalg.norm(theirs.theta))
    assert max(norms) == pytest.approx(1.5) and min(norms) < 1.4
    draw = jax.jit(lambda k: jax.vmap(lambda k: model.sample(k, state, ArmObs(z[0])))(jax.random.split(k, 20_000)))
    log_odds = np.log(1.0 / (1.0 / np.asarray(draw(key)) - 1.0))
    check_gaussian(log_odds, z[0] @ theirs.theta, z[0] @ np.linalg.solve(theirs.W, z[0].T))


KERNELS = {
    "squared_exponential": (models.SquaredExponential(length_scale=0.9), reference.squared_exponential),
    "matern52": (models.Matern52(length_scale=0.9), reference.matern52),
    "matern32": (models.Matern32(length_scale=0.9), reference.matern32),
}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", KERNELS)
def test_gaussian_process_on_fixed_arms(name, rng, key):
    kernel, theirs = KERNELS[name]
    x, z, index, reward = make_recording(rng, fixed=True)
    model = models.GaussianProcess(n_arms=K, kernel=kernel, scale=1.3, noise_scale=0.4)
    gp = reference.GaussianProcess(1.3**2 * theirs(z[0], z[0], 0.9), 0.4)
    said, states, state = replay(model, (x, z, index, reward), key, "fixed", ("predict", "width"))
    gamma = jax.vmap(model.information)(states)
    for t in range(ROUNDS):
        mean, covariance = gp.posterior() if t else (np.zeros(K), gp.C)
        np.testing.assert_allclose(said["predict"][t], mean, **CLOSE)
        np.testing.assert_allclose(said["width"][t], np.sqrt(np.diag(covariance)), **CLOSE)
        np.testing.assert_allclose(gamma[t], gp.information() if t else 0.0, **CLOSE)
        gp.update(index[t], reward[t])
    mean, covariance = gp.posterior()
    check_gaussian(
        np.asarray(jax.jit(lambda k: model.samples(k, state, FixedArmObs(z[0]), 20_000))(key)), mean, covariance
    )


@pytest.mark.slow
def test_a_process_of_lower_rank_has_the_prior_so_truncated(rng, key):
    arms = np.linspace(0.0, 1.0, 12)[:, None]
    model = models.GaussianProcess(n_arms=12, rank=5, noise_scale=0.3)
    obs = FixedArmObs(jnp.asarray(arms))
    state = model.init_from_obs(model.init(key), obs)
    values, vectors = np.linalg.eigh(reference.squared_exponential(arms, arms, 0.2))
    gp = reference.GaussianProcess((vectors[:, -5:] * values[-5:]) @ vectors[:, -5:].T, 0.3)
    for t in range(8):
        i, y = int(rng.integers(12)), rng.normal()
        state = model.update(key, jnp.int32(t), state, obs, ArmDecision(jnp.int32(i), arms[i]), y)
        gp.update(i, y)
    mean, covariance = gp.posterior()
    np.testing.assert_allclose(model.predict(state, obs), mean, **CLOSE)
    np.testing.assert_allclose(model.width(state, obs), np.sqrt(np.diag(covariance)), **CLOSE)


def test_the_root_of_a_singular_covariance(rng):
    arms = np.repeat(rng.normal(size=(3, 2)), 2, axis=0)  # every point twice
    gram = reference.squared_exponential(arms, arms, 0.5)
    root = np.asarray(covariance_root(jnp.asarray(gram)))
    np.testing.assert_allclose(root @ root.T, gram, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rank", [None, 2])
def test_draws_of_a_trial_are_the_same_whether_it_runs_alone_or_not(rank, rng, key):
    """Eigenvectors of up to 10 arms have other signs in a batch."""
    model = models.GaussianProcess(n_arms=4, rank=rank)

    def draw(arms, key):
        obs = FixedArmObs(arms)
        return model.sample(key, model.init_from_obs(model.init(key), obs), obs)

    arms, keys = jnp.asarray(rng.uniform(size=(5, 4, 2))), jax.random.split(key, 5)
    alone = [jax.jit(draw)(*of_trial) for of_trial in zip(arms, keys, strict=True)]
    together = jax.jit(vmap_last(draw, (-1, -1)))(jnp.moveaxis(arms, 0, -1), keys)
    np.testing.assert_allclose(together.T, alone, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_random_features_approximate_the_kernel(name, rng, key):
    kernel, theirs = KERNELS[name]
    points = rng.normal(size=(5, D)) * 0.7
    model = models.RandomFeatures(model=models.Linear(dim=64), input_dim=D, kernel=kernel, scale=1.5)

    def products(key):
        state = model.init(key)
        rows = jax.vmap(lambda x: model.features(state, x))(jnp.asarray(points))
        return rows @ rows.T

    found = np.asarray(jax.jit(lambda k: jax.lax.map(products, jax.random.split(k, 4000)))(key))
    error = found.std(0) / np.sqrt(len(found))
    assert (np.abs(found.mean(0) - 1.5**2 * theirs(points, points, 0.9)) < 5 * error).all()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("kind", ["arms", "fixed", "context"])
def test_random_features_are_a_ridge_regression_on_their_features(kind, rng, key):
    size = 12
    inner = models.Ridge(n_arms=K, dim=size) if kind == "context" else models.Linear(dim=size)
    model = models.RandomFeatures(model=inner, input_dim=D, scale=1.2)
    x, z, index, reward = rows = make_recording(rng, fixed=kind == "fixed")
    said, states, _ = replay(model, rows, key, kind, ("predict", "width"))
    W, b = np.asarray(states.weights[0]), np.asarray(states.phase[0])
    theirs = reference.Ridge(K * size if kind == "context" else size, 1.0, 1.0)
    assert b.min() >= 0.0 and b.max() < 2 * np.pi
    for t in range(ROUNDS):
        phi = 1.2 * np.sqrt(2 / size) * np.cos((x[t] if kind == "context" else z[t]) @ W.T + b)
        seen = reference.blocks(phi, K) if kind == "context" else phi
        np.testing.assert_allclose(said["predict"][t], theirs.predict(seen), **CLOSE)
        np.testing.assert_allclose(said["width"][t], theirs.width(seen), **CLOSE)
        theirs.update(seen[index[t]], reward[t])


@pytest.mark.slow_after_first
@pytest.mark.parametrize("kind", ["fixed", "arms", "context"])
def test_an_intercept_is_a_coordinate_of_1(kind, rng, key):
    inner = models.Ridge(n_arms=K, dim=D + 1) if kind == "context" else models.Linear(dim=D + 1)
    x, z, index, reward = rows = make_recording(rng, fixed=kind == "fixed")
    said, _, _ = replay(models.Intercept(model=inner), rows, key, kind, ("predict", "width"))
    theirs = reference.Ridge(K * (D + 1) if kind == "context" else D + 1, 1.0, 1.0)
    for t in range(ROUNDS):
        seen = np.hstack([np.ones((K, 1)), z[t]])
        if kind == "context":
            seen = reference.blocks(np.append(1.0, x[t]), K)
        np.testing.assert_allclose(said["predict"][t], theirs.predict(seen), **CLOSE)
        np.testing.assert_allclose(said["width"][t], theirs.width(seen), **CLOSE)
        theirs.update(seen[index[t]], reward[t])


SGD = models.Optimizer(make=optax.sgd, hyperparameters={"learning_rate": 0.01, "momentum": 0.5})
NETWORKS = {
    "one pass": {},
    "two layers, decay": {"hidden": (5, 4), "weight_decay": 0.1},
    "buffer": {"capacity": 40, "train_every": 7, "n_steps": 3, "batch": 6},
    "features of arms": {"n_arms": None, "capacity": 100, "train_every": 5, "n_steps": 2, "batch": 9},
}


def replay_network(options, rng, key, wrap=lambda network: network):
    """Return what was said, the states, the rows, the reference."""
    options = {"hidden": (6,), "n_arms": K} | options
    network = models.Network(input_dim=D, optimizer=SGD, **options)
    rows = make_recording(rng)
    kind = "context" if options["n_arms"] else "arms"
    said, states, last = replay(wrap(network), rows, key, kind, ("predict",))
    first = states.network if hasattr(states, "network") else states
    layers = [(np.asarray(layer.weight[0]), np.asarray(layer.bias[0])) for layer in first.layers]
    theirs = reference.Network(layers, 0.01, 0.5, options.get("weight_decay", 0.0))
    return said, (states, last), rows, theirs, options


def buffer_of(options):
    names = {"capacity": "capacity", "train_every": "every", "n_steps": "n_steps", "batch": "batch"}
    return {theirs: options[ours] for ours, theirs in names.items() if ours in options}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_descend_the_squared_loss(name, rng, key):
    said, _, (x, z, index, reward), theirs, options = replay_network(NETWORKS[name], rng, key)
    for t in range(ROUNDS):
        if options["n_arms"]:
            np.testing.assert_allclose(said["predict"][t], theirs.apply(x[t]), **CLOSE)
            theirs.update(t, x[t], index[t], reward[t], **buffer_of(options))
        else:
            np.testing.assert_allclose(said["predict"][t], [theirs.apply(row)[0] for row in z[t]], **CLOSE)
            theirs.update(t, z[t, index[t]], 0, reward[t], **buffer_of(options))
    assert np.abs(said["predict"][0] - said["predict"][-1]).max() > 0.1


@pytest.mark.slow
def test_first_weights_have_their_scale(key):
    network = models.Network(input_dim=400, n_arms=300, hidden=(500,))
    first, second = network.init(key).layers
    np.testing.assert_allclose(first.weight.std(), np.sqrt(2 / 400), rtol=0.02)
    np.testing.assert_allclose(second.weight.std(), np.sqrt(1 / 500), rtol=0.02)
    assert not first.bias.any() and not second.bias.any()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", ["buffer", "features of arms"])
def test_neural_linear_regresses_on_the_last_hidden_layer(name, rng, key):
    """Refitted at the new weights after a training, from the rows kept; else one more row, at the present weights."""
    heads = NETWORKS[name].get("n_arms", K)

    def wrap(network):
        inner = models.Ridge(n_arms=K, dim=6, ridge=0.5) if heads else models.Linear(dim=6, ridge=0.5)
        return models.NeuralLinear(network=network, model=inner)

    said, _, (x, z, index, reward), network, options = replay_network(NETWORKS[name], rng, key, wrap)
    size = K * 6 if heads else 6

    def vector(row, k):
        hidden = network.layers_up_to_the_last(row)[-1]
        return reference.blocks(hidden, K)[k] if heads else hidden

    ridge, trained = reference.Ridge(size, 0.5, 1.0), 0
    for t in range(ROUNDS):
        seen = np.array([vector(x[t] if heads else z[t, k], k) for k in range(K)])
        np.testing.assert_allclose(said["predict"][t], ridge.predict(seen), rtol=1e-8, atol=1e-8)
        row = x[t] if heads else z[t, index[t]]
        if network.update(t, row, index[t] if heads else 0, reward[t], **buffer_of(options)):
            ridge, trained = reference.Ridge(size, 0.5, 1.0), trained + 1
            for kept, k, y in network.rows:
                ridge.update(vector(kept, k), y)
        else:
            ridge.update(vector(row, index[t]), reward[t])
    assert trained > 5


@pytest.mark.slow_after_first
@pytest.mark.parametrize("per_arm", [True, False])
def test_neural_linear_estimates_the_noise_of_all_rounds(per_arm, rng, key):
    """The residuals after a training are those at the new features, of the rows kept."""
    options = NETWORKS["buffer" if per_arm else "features of arms"]
    inner = models.NormalInverseGamma(dim=6, ridge=0.4, shape=3.0, scale=2.0)

    def wrap(network):
        return models.NeuralLinear(network=network, model=models.PerArm(model=inner, n_arms=K) if per_arm else inner)

    _, (_, last), (x, z, index, reward), network, options = replay_network(options, rng, key, wrap)
    for t in range(ROUNDS):
        row, head = (x[t], index[t]) if per_arm else (z[t, index[t]], 0)
        trained = network.update(t, row, head, reward[t], **buffer_of(options))
    copies = [reference.NormalInverseGamma(6, 0.4, 3.0, 2.0) for _ in range(K if per_arm else 1)]
    rows = network.rows if trained else None
    if rows is None:  # rounds after the last training count at the present features
        every = options["train_every"]
        stop = ROUNDS - ROUNDS % every
        order = list(range(stop))[-options["capacity"] :] + list(range(stop, ROUNDS))
        rows = [(x[t], index[t], reward[t]) if per_arm else (z[t, index[t]], 0, reward[t]) for t in order]
    for row, head, y in rows:
        copies[head].update(network.layers_up_to_the_last(row)[-1], y)
    inner_state = last.inner
    np.testing.assert_allclose(np.ravel(inner_state.shape), [copy.a for copy in copies], rtol=1e-12)
    np.testing.assert_allclose(np.ravel(inner_state.scale.total), [copy.b for copy in copies], rtol=1e-8)


def test_a_model_without_a_closed_form_learns_from_stored_rounds_one_by_one(rng, key):
    """An intercept has no `fit`: the same posterior as ridge regression on (1, z), after every training."""
    assert not hasattr(models.Intercept(model=models.Linear(dim=7)), "fit")

    def wrap(network):
        return models.NeuralLinear(network=network, model=models.Intercept(model=models.Linear(dim=7, ridge=0.5)))

    said, _, (_, z, index, reward), network, options = replay_network(NETWORKS["features of arms"], rng, key, wrap)
    theirs = reference.Ridge(7, 0.5, 1.0)
    for t in range(ROUNDS):
        seen = [np.append(1.0, network.layers_up_to_the_last(row)[-1]) for row in z[t]]
        np.testing.assert_allclose(said["predict"][t], theirs.predict(np.array(seen)), rtol=1e-8, atol=1e-8)
        if network.update(t, z[t, index[t]], 0, reward[t], **buffer_of(options)):
            theirs = reference.Ridge(7, 0.5, 1.0)
            for kept, _, y in network.rows:
                theirs.update(np.append(1.0, network.layers_up_to_the_last(kept)[-1]), y)
        else:
            theirs.update(seen[index[t]], reward[t])


def test_members_of_an_ensemble_learn_from_different_stored_rounds(key):
    """The coin of a member is tossed for every row: with one key for all rows it learned from all or from none."""
    network = models.Network(input_dim=1, hidden=(1,), activation="tanh", capacity=40, train_every=40, batch=1)
    ensemble = models.Ensemble(model=models.Linear(dim=1), n_members=6, share=0.5)
    model, x = models.NeuralLinear(network=network, model=ensemble), jnp.ones(1)

    @jax.jit
    def run(key):
        def learn(t, state):
            decision = ArmDecision(jnp.int32(0), x)
            return model.update(jax.random.fold_in(key, t), t, state, ArmObs(x[None]), decision, jnp.ones(()))

        state = jax.lax.fori_loop(jnp.int32(0), jnp.int32(40), learn, model.init(key))
        # Every row adds z^2 to the pivot of a member that learns from it.
        return (inverse_factors.pivots(state.inner.members.inverse) - 1.0) / jnp.square(model.features(state, x))

    learned = np.ravel(run(key))
    np.testing.assert_allclose(learned, np.round(learned), atol=1e-6)
    assert ((learned > 0.5) & (learned < 39.5)).all()


@pytest.mark.parametrize(
    "model",
    [
        models.PerArm(model=models.Linear(dim=D, ridge=0.5, noise_scale=0.7), n_arms=K),
        models.Intercept(model=models.Linear(dim=D + 1, ridge=0.5, noise_scale=0.7)),
        models.RandomFeatures(model=models.Linear(dim=6, ridge=0.5, noise_scale=0.7), input_dim=D),
    ],
    ids=lambda model: type(model).__name__,
)
def test_wrappers_draw_the_prior_of_their_model(model, rng, key):
    """Without these draws, all members of an ensemble would predict 0 for arms that were not played."""
    z = jnp.asarray(rng.normal(size=(K, D)))
    obs = ContextObs(z[0], jnp.eye(K)) if model.reads_context else ArmObs(z)
    first = model.init(key)
    drawn = jax.jit(jax.vmap(lambda k: model.predict(model.draw_prior(k, first), obs)))(jax.random.split(key, 4000))
    np.testing.assert_allclose(np.std(drawn, axis=0), model.width(first, obs), rtol=0.06)
    assert not model.reads_context or np.abs(np.corrcoef(drawn.T) - np.eye(K)).max() < 0.08  # independent arms


@pytest.mark.slow
def test_members_of_an_ensemble_are_ridge_regressions_on_perturbed_rewards(rng, key):
    """From the coins, perturbations and priors that the ensemble draws: each member by one solve."""
    model = models.Ensemble(model=models.Linear(dim=D, ridge=0.5), n_members=5, perturbation=0.9, share=0.6)
    _, z, index, reward = rows = make_recording(rng)
    said, states, _ = replay(model, rows, key, "arms", ("predict", "width"))
    members = [reference.Ridge(D, 0.5, 1.0, start=np.asarray(states.members.theta[0, :, j])) for j in range(5)]
    assert np.abs(states.members.theta[0]).min() > 1e-4
    heads_of = 0
    for t in range(ROUNDS):
        found = np.array([member.predict(z[t]) for member in members])
        np.testing.assert_allclose(said["predict"][t], found.mean(0), **CLOSE)
        np.testing.assert_allclose(said["width"][t], found.std(0), **CLOSE)
        _, normal_key, coin_key = jax.random.split(jax.random.fold_in(key, t), 3)
        noise, coins = library_rng.normal_vector(normal_key, 5), library_rng.uniforms(coin_key, 5)
        for j, member in enumerate(members):
            if coins[j] < 0.6:
                member.update(z[t, index[t]], reward[t] + 0.9 * float(noise[j]))
                heads_of += 1
    assert 0.5 < heads_of / (5 * ROUNDS) < 0.7


@pytest.mark.slow
@pytest.mark.parametrize("name", ["process", "linear", "ridge"])
def test_members_of_an_ensemble_have_the_law_of_the_posterior(name, rng, key):
    """Lu & Van Roy, 2017: with priors drawn and noise of the rewards' scale, given arms and rewards."""
    kind = {"linear": "arms", "ridge": "context", "process": "fixed"}[name]
    x, z, index, reward = rows = make_recording(rng, fixed=kind == "fixed")
    count = 4000
    if name == "process":
        inner = models.GaussianProcess(n_arms=K, noise_scale=0.7, kernel=models.SquaredExponential(length_scale=1.5))
        gp = reference.GaussianProcess(reference.squared_exponential(z[0], z[0], 1.5), 0.7)
        for t in range(ROUNDS):
            gp.update(index[t], reward[t])
        wanted = gp.posterior()
        obs = FixedArmObs(z[0])
    else:
        inner, _, arms, size = LINEAR[name]
        theirs = reference.Ridge(size, 0.5, 0.7)
        for t in range(ROUNDS):
            theirs.update(rows_of(arms, x[t], z[t])[index[t]], reward[t])
        seen = rows_of(arms, x[0], z[0])
        wanted = theirs.predict(seen), theirs.covariance(seen)
        obs = ContextObs(x[0], z[0]) if kind == "context" else ArmObs(z[0])
    # One member an ensemble, many ensembles: the members are independent.
    model = models.Ensemble(model=inner, n_members=1, perturbation=0.7)
    run = jax.jit(
        lambda k: jax.lax.map(lambda k: model.predict(replay(model, rows, k, kind, ())[2], obs), k, batch_size=500)
    )
    check_gaussian(np.asarray(run(jax.random.split(key, count))), *wanted)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("inner", ["chain", "epochs"])
def test_members_of_an_ensemble_draw_independently_in_updates(inner, key):
    chain = models.LangevinNetwork(
        input_dim=1, n_arms=1, hidden=(), temperature=0.5, learning_rate=0.3, capacity=8, n_steps=20
    )
    epochs = models.DoublingEpochs(model=models.Network(input_dim=1, n_arms=1, hidden=()))  # draws weights per epoch
    model = models.Ensemble(model=chain if inner == "chain" else epochs, n_members=3)
    obs = ContextObs(jnp.zeros(1) if inner == "chain" else jnp.ones(1), jnp.eye(1), None)

    @jax.jit
    def run(key):
        def learn(t, state):
            round_key = jax.random.fold_in(key, t)
            return model.update(round_key, t, state, obs, ArmDecision(jnp.int32(0), obs.arms[0]), jnp.ones(()))

        return model.width(jax.lax.fori_loop(jnp.int32(0), jnp.int32(8), learn, model.init(key)), obs)

    # With the context 0, the chain is an autoregression of the intercept, whose factor is 1 - 2 rate (8 + 1).
    step = 0.3 / 8.0
    wanted = np.sqrt(2.0 * step * 0.5 / (1.0 - (1.0 - 2.0 * step * 9.0) ** 2)) if inner == "chain" else 1.0
    assert 0.05 * wanted < run(key) < 3.0 * wanted


@pytest.mark.slow
def test_a_sample_of_an_ensemble_is_a_member(rng, key):
    model = models.Ensemble(model=models.Linear(dim=D), n_members=3)
    obs, state = ArmObs(jnp.asarray(rng.normal(size=(K, D)))), model.init(key)
    members = np.asarray(obs.arms @ state.members.theta).T
    for draws in (
        np.asarray(jax.vmap(lambda k: model.sample(k, state, obs))(jax.random.split(key, 3000))),
        np.asarray(model.samples(key, state, obs, 3000)),
    ):
        nearest = np.abs(draws[:, None] - members).sum(-1).argmin(1)
        np.testing.assert_allclose(draws, members[nearest], **CLOSE)
        assert st.chisquare(np.bincount(nearest, minlength=3)).pvalue > 1e-5


def test_doubling_epochs_predict_from_the_last_epoch(rng, key):
    model = models.DoublingEpochs(model=models.Ridge(n_arms=K, dim=D, ridge=0.5))
    x, _, index, reward = rows = make_recording(rng)
    said, _, _ = replay(model, rows, key, "context", ("predict",))
    acting, learning, begun = reference.Ridge(K * D, 0.5, 1.0), reference.Ridge(K * D, 0.5, 1.0), 0
    length = 0
    for t in range(ROUNDS):
        seen = reference.blocks(x[t], K)
        np.testing.assert_allclose(said["predict"][t], acting.predict(seen), **CLOSE)
        assert model.previous_epoch(jnp.int32(t)) == model.previous_epoch(jnp.int64(t)) == length, t
        learning.update(seen[index[t]], reward[t])
        if t + 1 in (2, 4, 8, 16, 32):
            acting, learning, length, begun = learning, reference.Ridge(K * D, 0.5, 1.0), t + 1 - begun, t + 1
    assert length == 16


@pytest.mark.parametrize("inner", ["network", "ensemble"])
def test_an_epoch_trains_a_network_on_its_own_rounds_only(inner, rng, key):
    # Constant rewards 1: a row of zeros that is not a round of the epoch would pull the intercept towards 0.
    network = models.LangevinNetwork(
        input_dim=1, n_arms=2, hidden=(), temperature=0.0, weight_decay=1e-9, learning_rate=0.3, capacity=40,
        n_steps=100,
    )  # fmt: skip
    model = models.DoublingEpochs(model=network if inner == "network" else models.Ensemble(model=network, n_members=2))
    obs = ContextObs(jnp.zeros(1), jnp.eye(2), None)

    @jax.jit
    def learn(t, state, index):
        return model.update(key, t, state, obs, ArmDecision(index, obs.arms[index]), jnp.ones(()))

    state = model.init(key)
    for t in range(32):
        state = learn(jnp.int32(t), state, jnp.int32(t % 2))
    np.testing.assert_allclose(model.predict(state, obs), 1.0, atol=1e-4)


def test_an_epoch_counts_rounds_from_its_start(rng, key):
    """OGD divides its steps by the root of the round: counted from round 0, an epoch would begin with small steps."""
    inner = models.OracleModel(n_arms=K, dim=D, oracle=OGD(dim=K * D, lipschitz=3.0))
    rows = make_recording(rng)
    said, _, _ = replay(models.DoublingEpochs(model=inner), rows, key, "context", ("predict",))
    _, states, _ = replay(inner, tuple(np.roll(part, -16, axis=0) for part in rows), key, "context", ())
    alone = jax.tree.map(lambda leaf: leaf[16], states)  # after the rounds 17, ..., 32
    wanted = inner.predict(alone, ContextObs(rows[0][32], rows[1][32]))
    np.testing.assert_allclose(said["predict"][32], wanted, **CLOSE)


def test_members_may_store_rounds_if_they_learn_from_all():
    validate(models.Ensemble(model=NETWORK, perturbation=0.5))
    validate(models.Ensemble.bootstrap(model=models.Network(input_dim=2, hidden=(3,))))


def test_members_that_start_equal_may_differ_later():
    validate(models.Ensemble(model=models.Intercept(model=PER_ARM), perturbation=0.1))
    validate(models.Ensemble(model=models.DoublingEpochs(model=PER_ARM), perturbation=0.1))
    validate(models.Ensemble.bootstrap(model=models.Hybrid(n_arms=2, dim=3, shared_dim=2)))
    network = models.Network(input_dim=2, n_arms=2, hidden=(3,), capacity=9, batch=2)
    validate(models.Ensemble(model=models.NeuralLinear(network=network, model=PER_ARM)))


def test_an_online_learner_is_a_model(rng, key):
    model = models.OracleModel(n_arms=K, dim=D, oracle=OGD(dim=K * D, lipschitz=3.0))
    x, _, index, reward = rows = make_recording(rng)
    said, _, _ = replay(model, rows, key, "context", ("predict",))
    theirs = oracle_reference.Oracle(K, D, lipschitz=3.0)
    for t in range(ROUNDS):
        np.testing.assert_allclose(said["predict"][t], theirs.W @ x[t], **CLOSE)
        theirs.update(x[t], None, index[t], reward[t])


PER_ARM = models.PerArm(model=models.NormalInverseGamma(dim=3), n_arms=2)
LINEAR_MODEL, NETWORK = models.Linear(dim=3), models.Network(input_dim=2, hidden=(3,), capacity=9, batch=2)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (models.PerArm(model=models.Ridge(n_arms=2, dim=2), n_arms=2), "must read features of arms, but Ridge reads a"),
        (models.Ensemble(model=models.Ridge), "must be a number, an array of numbers or a tree of them, got <class"),
        # The rows that a member leaves out would stay zeros in its buffer, and be trained on.
        (models.Ensemble.bootstrap(model=NETWORK), "share must be 1 .* such as Network"),
        (models.Ensemble(model=models.Intercept(model=NETWORK), share=np.array([1.0, 0.9])), "share must be 1"),
        (models.Ensemble(model=models.DoublingEpochs(model=LINEAR_MODEL), share=0.9), "such as DoublingEpochs"),
        (models.Ensemble(model=models.LogisticRegression(dim=3)), "Ensemble of LogisticRegression are equal in every"),
        (models.Ensemble(model=models.Intercept(model=PER_ARM), perturbation=np.array([0.1, 0.0])), "equal in every"),
        # The copy of an arm would train on rows of zeros for the rounds of the other arms.
        (models.PerArm(model=NETWORK, n_arms=2), "must not store rounds or learn in epochs, but Network does"),
        (models.PerArm(model=models.Ensemble(model=NETWORK), n_arms=2), "but Ensemble does"),
        (models.PerArm(model=models.DoublingEpochs(model=LINEAR_MODEL), n_arms=2), "but DoublingEpochs does"),
        # The copies would never see arms, and predict 0.
        (models.PerArm(model=models.Ensemble(model=models.GaussianProcess(n_arms=1)), n_arms=2), "never change, but G"),
        (models.RandomFeatures(model=models.GaussianProcess(n_arms=3), input_dim=2), "must have a dimension"),
        (models.GaussianProcess(n_arms=3, rank=4), "rank must be at most n_arms = 3, got 4"),
        (models.GaussianProcess(n_arms=3, kernel=models.Matern32), r"must be an object such as SquaredExponential\(\)"),
        (models.Network(input_dim=2, activation="relo"), "relu"),
        (models.Network(input_dim=2, hidden=(0,)), "tuple of whole numbers >= 1"),
        (models.Network(input_dim=2, capacity=4), "batch must be at most capacity = 4, got 32"),
        (models.Network(input_dim=2, optimizer=optax.adam), r"must be an object such as Optimizer\(\)"),
        (models.NeuralLinear(network=NETWORK, model=models.Linear(dim=4)), "must have dim=3"),
        (models.NeuralLinear(network=NETWORK, model=models.Ridge(n_arms=2, dim=3)), "must read features of arms"),
        (
            models.NeuralLinear(
                network=models.Network(input_dim=2, n_arms=4, hidden=(3,), capacity=40),
                model=models.Ridge(n_arms=2, dim=3),
            ),
            "must have n_arms=4, as the network has, got 2",
        ),
        (models.NeuralLinear(network=models.Network(input_dim=2), model=LINEAR_MODEL), "hidden layers and a capacity"),
        # After a training, further rounds would be appended behind rows of zeros.
        (models.NeuralLinear(network=NETWORK, model=models.LangevinNetwork(input_dim=3)), "but LangevinNetwork does"),
        (models.NeuralLinear(network=NETWORK, model=models.DoublingEpochs(model=LINEAR_MODEL)), "DoublingEpochs does"),
        # The stored rows lack the features of arms, which predictions would read.
        (
            models.NeuralLinear(
                network=models.Network(input_dim=2, n_arms=4, hidden=(3,), capacity=40),
                model=models.Ensemble(model=models.Hybrid(n_arms=4, dim=3, shared_dim=2), share=0.9),
            ),
            "only the last hidden layer, but Hybrid also reads features of arms",
        ),
        (models.Intercept(model=models.GaussianProcess(n_arms=3)), "must have a dim of at least 2"),
        (models.OracleModel(n_arms=2, dim=2, oracle=OGD(dim=3)), "with dim=4"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(model, message):
    with pytest.raises(InputError, match=message):
        validate(model)


def test_a_process_needs_arms_that_never_change(rng, key):
    model = models.GaussianProcess(n_arms=K)
    with pytest.raises(InputError, match="needs arms that never change"):
        model.init_from_obs(model.init(key), ArmObs(jnp.asarray(rng.normal(size=(K, D)))))
