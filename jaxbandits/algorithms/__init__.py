"""The registry of algorithms, written out by hand."""

from jaxbandits.algorithms.coco.ofw_tvc import OFWTVC
from jaxbandits.algorithms.dro.online import Online
from jaxbandits.algorithms.dro.smd import SMD
from jaxbandits.algorithms.glm.glb_omd import GLBOMD
from jaxbandits.algorithms.linear.crmm import CRMM
from jaxbandits.algorithms.linear.crtm import CRTM
from jaxbandits.algorithms.linear.heavy_oful import HeavyOFUL
from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.menu import MENU
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.algorithms.linear.tofu import TOFU
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
    "linear/heavy_oful": Entry(
        HeavyOFUL,
        HeavyOFUL.practical(dim=2, horizon=40, eps=0.99, capacity=64),
        "Huang et al., NeurIPS 2023, Algorithm 1",
        ("linear/heavy_tailed",),
    ),
    "linear/crtm": Entry(
        CRTM, CRTM.practical(dim=2, horizon=200, eps=0.99), "Xue et al., NeurIPS 2023", ("linear/heavy_tailed",)
    ),
    "linear/crmm": Entry(
        CRMM, CRMM.practical(dim=2, horizon=200, eps=0.99), "Xue et al., NeurIPS 2023", ("linear/heavy_tailed",)
    ),
    "linear/menu": Entry(
        MENU,
        MENU.practical(dim=2, horizon=200, eps=0.99, reps=5),
        "Shao et al., NeurIPS 2018",
        ("linear/heavy_tailed",),
    ),
    "linear/tofu": Entry(
        TOFU, TOFU.practical(dim=2, horizon=200, eps=0.99), "Shao et al., NeurIPS 2018", ("linear/heavy_tailed",)
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
