"""Small reward models by name, for tests of what all parts of a `contextual.Bandit` have in common."""

from jaxbandits.contextual import models
from jaxbandits.oco import OGD

K, D = 3, 2  # arms; dimension of contexts and of features of arms
MODELS = {
    "model/doubling_epochs": models.DoublingEpochs(model=models.Ridge(n_arms=K, dim=D)),
    "model/ensemble": models.Ensemble(model=models.Ridge(n_arms=K, dim=D), n_members=4, perturbation=1.0),
    "model/gaussian_process": models.GaussianProcess(n_arms=K),
    "model/hybrid": models.Hybrid(n_arms=K, dim=D, shared_dim=2),
    "model/intercept": models.Intercept(model=models.Linear(dim=D + 1)),
    "model/langevin_network": models.LangevinNetwork(input_dim=D, hidden=(4,), capacity=40, n_steps=2),
    "model/linear": models.Linear(dim=D),
    "model/logistic_regression": models.LogisticRegression(dim=D),
    "model/network": models.Network(input_dim=D, hidden=(4,)),
    "model/neural_gradient": models.NeuralGradient(input_dim=D, n_hidden=4, capacity=40, n_steps=2),
    "model/neural_linear": models.NeuralLinear(
        network=models.Network(input_dim=D, hidden=(3,), capacity=40), model=models.Linear(dim=3)
    ),
    "model/normal_inverse_gamma": models.NormalInverseGamma(dim=D),
    "model/oracle": models.OracleModel(n_arms=K, dim=D, oracle=OGD(dim=K * D)),
    "model/per_arm": models.PerArm(model=models.NormalInverseGamma(dim=D), n_arms=K),
    "model/random_features": models.RandomFeatures(model=models.Linear(dim=8), input_dim=D),
    "model/ridge": models.Ridge(n_arms=K, dim=D),
    "model/subspace_network": models.SubspaceNetwork(input_dim=D, hidden=(4,), subspace_dim=5),
}
