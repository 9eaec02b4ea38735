"""The registry of environments, written out by hand."""

from jaxbandits.core import registry
from jaxbandits.core.registry import Entry
from jaxbandits.environments.coco.linear_constraints import LinearConstraints
from jaxbandits.environments.dro.synthetic_groups import SyntheticGroups
from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.environments.oco.linear_losses import LinearLosses

ENVIRONMENTS: dict[str, Entry] = {
    "linear/heavy_tailed": Entry(
        HeavyTailed, HeavyTailed(dim=2, n_arms=5), "Wang, Zhang, Zhao & Zhou, ICML 2025, Section 5"
    ),
    "glm/generalized_linear": Entry(
        GeneralizedLinear,
        GeneralizedLinear(dim=2, n_arms=5, norm_bound=3.0),
        "Zhang, Xu, Zhao & Sugiyama, NeurIPS 2025, Section 5",
    ),
    "oco/linear_losses": Entry(
        LinearLosses, LinearLosses(dim=2), "stochastically extended adversarial model, i.i.d. linear losses"
    ),
    "coco/linear_constraints": Entry(
        LinearConstraints, LinearConstraints(dim=2), "linear losses, one time-varying linear constraint (ours)"
    ),
    "dro/synthetic_groups": Entry(
        SyntheticGroups,
        SyntheticGroups.homogeneous(dim=3, n_groups=4),
        "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Section 7.1",
    ),
}


def register_environment(name: str, entry: Entry) -> None:
    """Adds your own environment under `family/name`.

    Raises:
      ValueError: when the name is taken or malformed.
    """
    registry.add(ENVIRONMENTS, name, entry)
