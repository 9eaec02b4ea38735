"""The registry of algorithms, written out by hand."""

from jaxbandits.algorithms.coco.ofw_tvc import OFWTVC
from jaxbandits.algorithms.dro.online import Online
from jaxbandits.algorithms.dro.smd import SMD
from jaxbandits.algorithms.glm.glb_omd import GLBOMD
from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.algorithms.linear.uniform import Uniform
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.algorithms.oco.oons import OONS
from jaxbandits.core import registry
from jaxbandits.core.registry import Entry

ALGORITHMS: dict[str, Entry] = {
    "linear/hvt_ucb": Entry(
        HvtUCB,
        HvtUCB.practical(dim=2, horizon=200, eps=0.99),
        "Wang, Zhang, Zhao & Zhou, ICML 2025, Algorithm 1",
        ("linear/heavy_tailed",),
    ),
    "linear/oful": Entry(
        OFUL,
        OFUL.practical(dim=2, horizon=200),
        "Abbasi-Yadkori, Pal & Szepesvari, NeurIPS 2011, Theorem 2",
        ("linear/heavy_tailed",),
    ),
    "linear/uniform": Entry(
        Uniform, Uniform(dim=2), "uniformly random play, the floor of every comparison", ("linear/heavy_tailed",)
    ),
    "glm/glb_omd": Entry(
        GLBOMD,
        GLBOMD.experiments(dim=2, norm_bound=3.0),
        "Zhang, Xu, Zhao & Sugiyama, NeurIPS 2025, Algorithm 1",
        ("glm/generalized_linear",),
    ),
    "oco/ogd": Entry(OGD, OGD(dim=2), "Zinkevich, ICML 2003", ("oco/linear_losses",)),
    "oco/oons": Entry(
        OONS, OONS.theory(dim=2), "Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 1", ("oco/linear_losses",)
    ),
    "coco/ofw_tvc": Entry(
        OFWTVC,
        OFWTVC.balanced(dim=2, horizon=200, lipschitz=2.0),
        "Wang, Wan & Zhang, AAAI 2025, Algorithm 1",
        ("coco/linear_constraints",),
    ),
    "dro/smd": Entry(
        SMD,
        SMD(dim=3, n_groups=4, horizon=200),
        "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 1",
        ("dro/synthetic_groups",),
    ),
    "dro/online": Entry(
        Online,
        Online(dim=3, n_groups=4, horizon=200),
        "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 2",
        ("dro/synthetic_groups",),
    ),
}


def register_algorithm(name: str, entry: Entry) -> None:
    """Adds your own algorithm under `family/name`, for every tool that goes through the registry.

    Raises:
      ValueError: when the name is taken or malformed.
    """
    registry.add(ALGORITHMS, name, entry)
