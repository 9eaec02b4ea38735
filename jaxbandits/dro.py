"""Group distributionally robust optimisation: algorithms, environments, losses and data, in one namespace."""

from jaxbandits.algorithms.dro import *
from jaxbandits.environments.datasets import groups as _groups
from jaxbandits.environments.datasets.adult import adult_like as adult_like
from jaxbandits.environments.datasets.adult import load_adult as load_adult
from jaxbandits.environments.datasets.groups import Groups as Groups
from jaxbandits.environments.datasets.groups import load_groups_csv as load_groups_csv
from jaxbandits.environments.datasets.groups import load_groups_libsvm as load_groups_libsvm
from jaxbandits.environments.datasets.groups import load_groups_npz as load_groups_npz
from jaxbandits.environments.dro import *
from jaxbandits.environments.dro.group_losses import Custom as Custom
from jaxbandits.environments.dro.group_losses import Hinge as Hinge
from jaxbandits.environments.dro.group_losses import Logistic as Logistic
from jaxbandits.environments.dro.group_losses import Squared as Squared


def __getattr__(name: str) -> object:
    """Return `Groups` for its deprecated name `GroupTable`, with a warning.

    Raises:
      AttributeError: for every other name.
    """
    if name == "GroupTable":
        return _groups.GroupTable  # which warns
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
