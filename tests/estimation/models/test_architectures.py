"""Networks of other libraries as the model `Network`."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import pytree, simulate, static
from jaxbandits.base.errors import InputError
from jaxbandits.contextual import Bandit, LinearContexts, models, rules
from jaxbandits.estimation.models import mlp
from jaxbandits.linear import HeavyTailed

BUFFER = {"capacity": 8, "train_every": 3, "n_steps": 2, "batch": 4}


@pytree
class Perceptron:
    """The network that `Network` has without an architecture."""

    hidden: int = static()

    def init(self, key, n_in, n_out):
        return mlp.init(key, (n_in, self.hidden, n_out))

    def apply(self, weights, x):
        return mlp.apply(weights, x, "relu")


def regret(network, environment):
    learner = Bandit(model=network, rule=rules.EpsGreedy())
    return simulate(learner, environment, 20, 3, progress=False, seed=4).trials["Bandit"].get("regret")


@pytest.mark.quick_cases("context-one pass")
@pytest.mark.parametrize("buffer", [{}, BUFFER], ids=["one pass", "buffer"])
@pytest.mark.parametrize("reads", ["context", "features"])
def test_a_perceptron_from_outside_is_that_from_inside(reads, buffer):
    n_arms, environment = (4, LinearContexts(dim=3, n_arms=4)) if reads == "context" else (
        None, HeavyTailed(dim=3, n_arms=4)
    )  # fmt: skip
    inside = models.Network(input_dim=3, n_arms=n_arms, hidden=(6,), **buffer)
    outside = models.Network(input_dim=3, n_arms=n_arms, architecture=Perceptron(hidden=6), **buffer)
    found = regret(outside, environment)
    np.testing.assert_array_equal(found, regret(inside, environment))
    assert (found != regret(models.Network(input_dim=3, n_arms=n_arms, hidden=(5,), **buffer), environment)).any()


def test_an_architecture_without_its_methods_is_refused():
    with pytest.raises(InputError, match=r"Network\.architecture must have the methods init and apply, got 'mlp'"):
        models.Network(input_dim=3, architecture="mlp").check()


def test_neural_linear_needs_the_last_hidden_layer():
    network = models.Network(input_dim=3, n_arms=2, hidden=(6,), architecture=Perceptron(hidden=6), **BUFFER)
    model = models.PerArm(model=models.NormalInverseGamma(dim=6), n_arms=2)
    with pytest.raises(InputError, match="must be a perceptron"):
        models.NeuralLinear(network=network, model=model).check()


def test_a_module_of_flax():
    nn = pytest.importorskip("flax.linen")

    class GeluNetwork(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(4)(nn.gelu(nn.LayerNorm()(nn.Dense(16)(x))))

    @pytree
    class FlaxNetwork:
        module: Any = static()

        def init(self, key, n_in, n_out):
            return self.module.init(key, jnp.zeros(n_in))

        def apply(self, weights, x):
            return self.module.apply(weights, x)

    check_training(FlaxNetwork(module=GeluNetwork()))


def test_a_module_of_equinox():
    eqx = pytest.importorskip("equinox")

    @pytree
    class EquinoxNetwork:
        width: int = static()

        def make(self, key, n_in, n_out):
            return eqx.partition(eqx.nn.MLP(n_in, n_out, self.width, 1, key=key), eqx.is_inexact_array)

        def init(self, key, n_in, n_out):
            return self.make(key, n_in, n_out)[0]

        def apply(self, weights, x):
            fixed = self.make(jax.random.key(0), weights.layers[0].in_features, weights.layers[-1].out_features)[1]
            return jnp.vectorize(eqx.combine(weights, fixed), signature="(d)->(k)")(x)

    check_training(EquinoxNetwork(width=16))


def check_training(architecture):
    """Check that training lowers the regret."""

    def mean_regret(learning_rate):
        optimizer = models.Optimizer(hyperparameters={"learning_rate": learning_rate})
        network = models.Network(input_dim=3, n_arms=4, architecture=architecture, optimizer=optimizer)
        learner = Bandit(model=network, rule=rules.EpsGreedy())
        settings = {"record_points": 1, "progress": False}
        return simulate(learner, LinearContexts(dim=3, n_arms=4), 400, 32, **settings).final("regret").mean()

    assert mean_regret(0.01) < 0.5 * mean_regret(0.0)
