"""Online convex optimisation: algorithms, environments, sequences and data, in one namespace."""

from jaxbandits.algorithms.oco import *
from jaxbandits.environments.datasets.streams import load_csv as load_csv
from jaxbandits.environments.datasets.streams import load_libsvm as load_libsvm
from jaxbandits.environments.oco import *
from jaxbandits.environments.oco.sequences import Alternating as Alternating
from jaxbandits.environments.oco.sequences import Constant as Constant
from jaxbandits.environments.oco.sequences import Drift as Drift
from jaxbandits.environments.oco.sequences import IsolatedFlips as IsolatedFlips
from jaxbandits.environments.oco.sequences import Piecewise as Piecewise
