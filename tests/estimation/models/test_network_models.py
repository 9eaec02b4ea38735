"""Posteriors over the weights of networks against NumPy references, round by round, and the laws of their draws."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.stats as st

from jaxbandits import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.contextual import models
from jaxbandits.numerics import rng as library_rng
from jaxbandits.types import ArmDecision, ArmObs, ContextObs
from tests.estimation.models.test_models import CLOSE, ROUNDS, D, K, check_gaussian, make_recording, replay
from tests.reference import network_models as reference
from tests.reference import reward_models as ridge_reference


def flat(layers, i=None):
    """The weights of layers as one vector; those of round i where they have an axis of rounds."""
    leaves = [np.asarray(leaf if i is None else leaf[i]).ravel() for layer in layers for leaf in layer]
    return np.concatenate(leaves)


LANGEVIN = {
    "heads": {"n_arms": K},
    "window, feel-good": {"n_arms": K, "capacity": 25, "train_every": 4, "feel_good": 0.7, "feel_good_bound": 0.6},
    "features of arms": {"hidden": (5, 3)},
}


draw_normal = jax.jit(library_rng.normal_vector, static_argnums=1)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", LANGEVIN)
def test_langevin_steps(name, rng, key):
    options = {"hidden": (6,), "capacity": ROUNDS, "train_every": 1, "n_steps": 3} | LANGEVIN[name]
    heads = options.get("n_arms")
    model = models.LangevinNetwork(input_dim=D, learning_rate=0.05, temperature=0.02, weight_decay=0.3, **options)
    x, z, index, reward = rows = make_recording(rng)
    said, states, _ = replay(model, rows, key, "context" if heads else "arms", ("predict",))
    sizes = (D, *options["hidden"], heads or 1)
    theirs = reference.Langevin(
        sizes, flat(states.layers, 0), 0.05, 0.02, 0.3, options.get("feel_good", 0.0),
        options.get("feel_good_bound", 1.0),
    )  # fmt: skip
    for t in range(ROUNDS):
        expected = theirs.apply(theirs.w, x[t]) if heads else [theirs.apply(theirs.w, row)[0] for row in z[t]]
        np.testing.assert_allclose(said["predict"][t], expected, **CLOSE)
        keys = [jax.random.fold_in(jax.random.fold_in(key, t), i) for i in range(3)]
        noise = [np.asarray(draw_normal(k, len(theirs.w))) for k in keys]
        row, head = (x[t], index[t]) if heads else (z[t, index[t]], 0)
        theirs.update(t, row, head, reward[t], options["capacity"], options["train_every"], noise)
    assert np.abs(said["predict"][0] - said["predict"][-1]).max() > 0.1


def linear_chain(rng, key, n_steps, n_chains, rate, temperature=0.5, decay=0.7):
    """Chains of one run of a linear model: predictions `[n, K]` at arms, and design, rewards and arms of the data."""
    x, z, index, reward = make_recording(rng)
    chosen = z[np.arange(ROUNDS), index]
    model = models.LangevinNetwork(
        input_dim=D, hidden=(), capacity=ROUNDS, train_every=ROUNDS, learning_rate=rate * ROUNDS,
        temperature=temperature, weight_decay=decay, n_steps=n_steps,
    )  # fmt: skip

    def chain(key):
        state = replay(model, (x, z, index, reward), key, "arms", ())[2]
        return model.predict(state, ArmObs(jnp.asarray(z[0])))

    draws = np.asarray(jax.jit(jax.vmap(chain))(jax.random.split(key, n_chains)))
    return draws, np.hstack([chosen, np.ones((ROUNDS, 1))]), reward, np.hstack([z[0], np.ones((K, 1))])


@pytest.mark.slow_after_first
@pytest.mark.parametrize("n_steps", [3, 40])
def test_the_law_of_a_linear_chain_after_any_number_of_steps(n_steps, rng, key):
    draws, design, reward, arms = linear_chain(rng, key, n_steps, 4000, 0.002)
    start = np.zeros(D + 1), np.diag([1 / D] * D + [0.0])  # first weights N(0, 1 / d), bias 0
    mean, covariance = reference.langevin_law(start, design, reward, 0.002, 0.5, 0.7, n_steps)
    check_gaussian(draws, arms @ mean, arms @ covariance @ arms.T)


@pytest.mark.slow
def test_a_linear_chain_approaches_the_ridge_posterior(rng, key):
    """Xu et al., 2022: N(theta, tau / 2 V^{-1}); more steps are closer, and small steps come as close as one likes."""
    start = np.zeros(D + 1), np.diag([1 / D] * D + [0.0])
    draws, design, reward, arms = linear_chain(rng, key, 4000, 1000, 5e-5)
    posterior = ridge_reference.Ridge(D + 1, 0.7, np.sqrt(0.5 / 2))
    for row, y in zip(design, reward, strict=True):
        posterior.update(row, y)
    check_gaussian(draws, posterior.predict(arms), posterior.covariance(arms))
    distances = []
    for n_steps in (50, 200, 1000, 4000):
        mean, covariance = reference.langevin_law(start, design, reward, 5e-5, 0.5, 0.7, n_steps)
        shift = np.abs(mean - posterior.theta).max()
        distances.append(shift + np.abs(covariance - 0.25 * np.linalg.inv(posterior.precision)).max())
    assert (np.diff(distances) < 0).all() and distances[-1] < 2e-3 * distances[0]


@pytest.mark.slow_after_first
@pytest.mark.parametrize("heads", [K, None])
def test_the_filter_in_a_subspace(heads, rng, key):
    sizes = (D, 6, heads or 1)
    model = models.SubspaceNetwork(
        input_dim=D, n_arms=heads, hidden=(6,), subspace_dim=14, noise_scale=0.6, prior_scale=1.3
    )
    x, z, index, reward = rows = make_recording(rng)
    said, states, _ = replay(model, rows, key, "context" if heads else "arms", ("predict", "width"))
    A = np.asarray(states.basis[0])
    np.testing.assert_allclose((A * A).sum(0), 1.0, **CLOSE)
    theirs = reference.Subspace(sizes, np.asarray(states.origin[0]), A, 0.6, 1.3)
    for t in range(ROUNDS):
        inputs = [(x[t], k) if heads else (z[t, k], 0) for k in range(K)]
        np.testing.assert_allclose(said["predict"][t], [theirs.predict(*row) for row in inputs], **CLOSE)
        np.testing.assert_allclose(said["width"][t], [theirs.width(*row) for row in inputs], **CLOSE)
        theirs.update(*inputs[index[t]], reward[t])


@pytest.mark.slow
def test_draws_in_a_subspace_are_outputs_at_gaussian_weights(rng, key):
    """A linear network whose subspace is everything: the posterior of ridge regression on (x, 1) around w_0."""
    model = models.SubspaceNetwork(input_dim=D, hidden=(), subspace_dim=D + 1, noise_scale=0.6, prior_scale=1.3)
    _, z, index, reward = rows = make_recording(rng)
    state = replay(model, rows, key, "arms", ())[2]
    A, origin = np.asarray(state.basis), np.asarray(state.origin)
    design, arms = np.hstack([z[np.arange(ROUNDS), index], np.ones((ROUNDS, 1))]), np.hstack([z[0], np.ones((K, 1))])
    theirs = ridge_reference.Ridge(D + 1, (0.6 / 1.3) ** 2, 0.6)
    for row, y in zip(design, reward, strict=True):
        theirs.update(row @ A, y - row @ origin)
    draw = jax.jit(lambda k: jax.vmap(lambda k: model.sample(k, state, ArmObs(z[0])))(jax.random.split(k, 20_000)))
    check_gaussian(np.asarray(draw(key)), arms @ origin + theirs.predict(arms @ A), theirs.covariance(arms @ A))


NEURAL = {
    "features of arms": {},
    "blocks, window": {"n_arms": K, "capacity": 25, "train_every": 4},
    "three layers, from the last weights": {"depth": 3, "restarts": False},
}


def neural_weights(state, heads):
    """The weights of the papers' network on the (doubled) vectors of the arms, of the first state."""
    first = np.asarray(state.first[0])  # [G, 2d, m]
    halves = [np.concatenate(list(first[:, part]), axis=0) for part in (slice(None, D), slice(D, None))]
    middle = [np.asarray(layer[0]).T for layer in state.middle]
    return [np.concatenate(halves, axis=0).T, *middle, np.asarray(state.last[0])]


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", NEURAL)
def test_neural_gradient_on_block_vectors(name, rng, key):
    options = {"capacity": ROUNDS, "train_every": 1} | NEURAL[name]
    heads, restarts = options.get("n_arms"), options.get("restarts", True)
    model = models.NeuralGradient(input_dim=D, n_hidden=8, ridge=0.3, noise_scale=0.7, n_steps=3, **options)
    x, z, index, reward = rows = make_recording(rng)
    said, states, _ = replay(model, rows, key, "context" if heads else "arms", ("predict", "width"))
    theirs = reference.NeuralUCB(neural_weights(states.weights, heads), 0.3, 0.7)
    assert np.abs(said["predict"][0]).max() < 1e-12  # the symmetric initialisation
    for t in range(ROUNDS):
        arms = ridge_reference.blocks(x[t], K) if heads else z[t]
        np.testing.assert_allclose(said["predict"][t], [theirs.predict(arm) for arm in arms], **CLOSE)
        np.testing.assert_allclose(said["width"][t], [theirs.width(arm) for arm in arms], **CLOSE)
        theirs.update(t, arms[index[t]], reward[t], options["capacity"], options["train_every"], 3, 0.01, restarts)
    assert np.abs(said["predict"][-1]).max() > 0.05


@pytest.mark.slow
def test_first_weights_and_draws_of_a_neural_gradient(rng, key):
    model = models.NeuralGradient(input_dim=30, n_hidden=200, depth=3, capacity=1, noise_scale=0.5)
    state = model.init(key)
    first, (middle,), last = state.weights
    np.testing.assert_allclose(np.std(first[0, :30, :100]), np.sqrt(4 / 200), rtol=0.03)
    np.testing.assert_allclose(np.std(middle[:100, :100]), np.sqrt(4 / 200), rtol=0.03)
    np.testing.assert_allclose(np.std(last), np.sqrt(2 / 200), rtol=0.15)
    assert not first[0, :30, 100:].any() and not middle[100:, :100].any()
    obs = ArmObs(jnp.asarray(rng.normal(size=(3, 30))))
    draws = np.asarray(jax.vmap(lambda k: model.sample(k, state, obs))(jax.random.split(key, 20_000)))
    widths = np.asarray(model.width(state, obs))
    for k in range(3):
        assert st.kstest(draws[:, k], st.norm(0.0, widths[k]).cdf).pvalue > 1e-5
    assert (np.abs(np.corrcoef(draws.T) - np.eye(3)) < 0.05).all()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (models.LangevinNetwork(input_dim=2, activation="relo"), "relu"),
        (models.LangevinNetwork(input_dim=2, feel_good=0.1), "feel_good needs n_arms"),
        (models.SubspaceNetwork(input_dim=2, hidden=(0,)), "SubspaceNetwork.hidden must be a tuple of whole numbers"),
        (models.NeuralGradient(input_dim=2, n_hidden=5), "n_hidden must be even, got 5"),
        (models.NeuralGradient(input_dim=2, activation="relo"), "relu"),
        (models.NeuralGradient(input_dim=2, optimizer=optax.adam), r"must be an object such as Optimizer\(\)"),
    ],
)  # fmt: skip
def test_networks_that_cannot_be_are_refused(model, message):
    with pytest.raises(InputError, match=message):
        validate(model)


def test_a_feel_good_model_prefers_weights_that_promise_more(key):
    """Without noise, the term moves every prediction up where the squared loss is flat."""
    obs = ContextObs(jnp.ones(2), jnp.zeros((3, 2)))
    found = []
    for weight in (0.0, 0.5):
        model = models.LangevinNetwork(
            input_dim=2, n_arms=3, hidden=(8,), temperature=0.0, weight_decay=0.0, feel_good=weight,
            feel_good_bound=10.0, capacity=4, n_steps=20,
        )  # fmt: skip

        def promise(key, model=model):
            played = ArmDecision(jnp.int32(0), jnp.zeros(2))
            state = model.update(key, jnp.int32(0), model.init(key), obs, played, jnp.zeros(()))
            return jnp.max(model.predict(state, obs))

        found.append(float(jax.jit(promise)(key)))
    assert found[1] > found[0] + 0.05
