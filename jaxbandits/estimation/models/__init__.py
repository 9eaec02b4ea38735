"""Reward models for `contextual.Bandit`, one per file: estimates of mean rewards, their widths, and posterior draws.

The module `protocol` lists the methods of a model, and the rules that need them.
"""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.estimation.models.doubling_epochs import DoublingEpochs as DoublingEpochs
    from jaxbandits.estimation.models.ensemble import Ensemble as Ensemble
    from jaxbandits.estimation.models.gaussian_process import GaussianProcess as GaussianProcess
    from jaxbandits.estimation.models.hybrid import Hybrid as Hybrid
    from jaxbandits.estimation.models.intercept import Intercept as Intercept
    from jaxbandits.estimation.models.kernels import Matern32 as Matern32
    from jaxbandits.estimation.models.kernels import Matern52 as Matern52
    from jaxbandits.estimation.models.kernels import SquaredExponential as SquaredExponential
    from jaxbandits.estimation.models.langevin_network import LangevinNetwork as LangevinNetwork
    from jaxbandits.estimation.models.linear import Linear as Linear
    from jaxbandits.estimation.models.logistic_regression import LogisticRegression as LogisticRegression
    from jaxbandits.estimation.models.network import Network as Network
    from jaxbandits.estimation.models.neural_gradient import NeuralGradient as NeuralGradient
    from jaxbandits.estimation.models.neural_linear import NeuralLinear as NeuralLinear
    from jaxbandits.estimation.models.normal_inverse_gamma import NormalInverseGamma as NormalInverseGamma
    from jaxbandits.estimation.models.oracle_model import OracleModel as OracleModel
    from jaxbandits.estimation.models.per_arm import PerArm as PerArm
    from jaxbandits.estimation.models.random_features import RandomFeatures as RandomFeatures
    from jaxbandits.estimation.models.ridge import Ridge as Ridge
    from jaxbandits.estimation.models.subspace_network import SubspaceNetwork as SubspaceNetwork
    from jaxbandits.estimation.optimizer import Optimizer as Optimizer

lazy.attach(__name__)
