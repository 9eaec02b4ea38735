"""The registry of algorithms, written out by hand."""

from jaxbandits.algorithms.coco.bfw_tvc import BFWTVC
from jaxbandits.algorithms.coco.lbpm import LBPM
from jaxbandits.algorithms.coco.loo_bogd import LOOBOGD
from jaxbandits.algorithms.coco.lpm import LPM
from jaxbandits.algorithms.coco.ofw import OFW
from jaxbandits.algorithms.coco.ofw_tvc import OFWTVC
from jaxbandits.algorithms.coco.opdp import OPDP
from jaxbandits.algorithms.coco.pf_ofw import PFOFW
from jaxbandits.algorithms.coco.scbfw_tvc import SCBFWTVC
from jaxbandits.algorithms.coco.scofw import SCOFW
from jaxbandits.algorithms.coco.scofw_tvc import SCOFWTVC
from jaxbandits.algorithms.coco.sinha_vaze import SinhaVaze
from jaxbandits.algorithms.coco.strongly_convex_sinha_vaze import StronglyConvexSinhaVaze
from jaxbandits.algorithms.dro.anytime_atkro_1 import AnytimeATkRO1
from jaxbandits.algorithms.dro.anytime_atkro_m import AnytimeATkROm
from jaxbandits.algorithms.dro.anytime_online import AnytimeOnline
from jaxbandits.algorithms.dro.anytime_smd import AnytimeSMD
from jaxbandits.algorithms.dro.atkro_k import ATkROk
from jaxbandits.algorithms.dro.atkro_m import ATkROm
from jaxbandits.algorithms.dro.haghtalab import Haghtalab
from jaxbandits.algorithms.dro.online import Online
from jaxbandits.algorithms.dro.sagawa_smd import SagawaSMD
from jaxbandits.algorithms.dro.smd import SMD
from jaxbandits.algorithms.dro.smd_r import SMDr
from jaxbandits.algorithms.dro.smpa import SMPA
from jaxbandits.algorithms.dro.soma import Soma
from jaxbandits.algorithms.glm.ada_ofu_ecolog import AdaOFUECOLog
from jaxbandits.algorithms.glm.ecolog import ECOLog
from jaxbandits.algorithms.glm.glb_omd import GLBOMD
from jaxbandits.algorithms.glm.glm_ucb import GLMUCB
from jaxbandits.algorithms.glm.gloc import GLOC
from jaxbandits.algorithms.glm.ofuglb import OFUGLB
from jaxbandits.algorithms.glm.oful_mlogb import OFULMLogB
from jaxbandits.algorithms.glm.ofulog_r import OFULogR
from jaxbandits.algorithms.glm.rs_glincb import RSGLinCB
from jaxbandits.algorithms.linear.crmm import CRMM
from jaxbandits.algorithms.linear.crtm import CRTM
from jaxbandits.algorithms.linear.heavy_oful import HeavyOFUL
from jaxbandits.algorithms.linear.hvt_identification import HvtIdentification
from jaxbandits.algorithms.linear.hvt_mdp import HvtMDP
from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.menu import MENU
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.algorithms.linear.oful_mdp import OFULMDP
from jaxbandits.algorithms.linear.recursive_least_squares import RecursiveLeastSquares
from jaxbandits.algorithms.linear.tofu import TOFU
from jaxbandits.algorithms.linear.uniform import Uniform
from jaxbandits.algorithms.oco.adagrad_norm import AdaGradNorm
from jaxbandits.algorithms.oco.anytime_ca_oons import AnytimeCAOONS
from jaxbandits.algorithms.oco.ca_oons import CAOONS
from jaxbandits.algorithms.oco.cla_oons import CLAOONS
from jaxbandits.algorithms.oco.clipped_parameter_free_md import ClippedParameterFreeMD
from jaxbandits.algorithms.oco.dog import DoG
from jaxbandits.algorithms.oco.dowg import DoWG
from jaxbandits.algorithms.oco.kt_betting import KTBetting
from jaxbandits.algorithms.oco.msmwc import MsMwC
from jaxbandits.algorithms.oco.msmwc_master import MsMwCMaster
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.algorithms.oco.oons import OONS
from jaxbandits.algorithms.oco.optax_learner import OptaxLearner
from jaxbandits.algorithms.oco.optimistic_ftrl_2022 import OptimisticFTRL2022
from jaxbandits.algorithms.oco.optimistic_ftrl_2023 import OptimisticFTRL2023
from jaxbandits.algorithms.oco.optimistic_omd import OptimisticOMD
from jaxbandits.algorithms.oco.parameter_free_md import ParameterFreeMD
from jaxbandits.algorithms.oco.scale_free_ftrl import ScaleFreeFTRL
from jaxbandits.core import registry
from jaxbandits.core.registry import Entry
from jaxbandits.domains.ball import L2Ball

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
    "linear/hvt_mdp": Entry(
        HvtMDP,
        HvtMDP.practical(dim=2, steps=2, horizon=200, eps=0.99),
        "ours, after Wang, Zhang, Zhao & Zhou, ICML 2025, Section 6.1",
        ("linear/linear_mdp",),
    ),
    "linear/oful_mdp": Entry(
        OFULMDP,
        OFULMDP.practical(dim=2, steps=2, horizon=200),
        "ours, on Abbasi-Yadkori, Pal & Szepesvari, NeurIPS 2011",
        ("linear/linear_mdp",),
    ),
    "linear/hvt_identification": Entry(
        HvtIdentification,
        HvtIdentification.practical(n_states=2, n_inputs=1, horizon=200, eps=0.99),
        "ours, after Wang, Zhang, Zhao & Zhou, ICML 2025, Section 6.2",
        ("linear/linear_system",),
    ),
    "linear/recursive_least_squares": Entry(
        RecursiveLeastSquares,
        RecursiveLeastSquares(n_states=2, n_inputs=1),
        "Plackett, Biometrika 1950",
        ("linear/linear_system",),
    ),
    "glm/glb_omd": Entry(
        GLBOMD,
        GLBOMD.experiments(dim=2, norm_bound=3.0),
        "Zhang, Xu, Zhao & Sugiyama, NeurIPS 2025, Algorithm 1",
        ("glm/generalized_linear",),
    ),
    "glm/gloc": Entry(
        GLOC, GLOC(dim=2, norm_bound=2.0), "Jun, Bhargava, Nowak & Willett, NeurIPS 2017", ("glm/generalized_linear",)
    ),
    "glm/ecolog": Entry(
        ECOLog,
        ECOLog(dim=2, norm_bound=2.0),
        "Faury, Abeille, Jun & Calauzenes, AISTATS 2022",
        ("glm/generalized_linear",),
    ),
    "glm/ada_ofu_ecolog": Entry(
        AdaOFUECOLog,
        AdaOFUECOLog(dim=2, n_arms=5, norm_bound=2.0, ridge=0.1, warmup_scale=1e-3),
        "Faury, Abeille, Jun & Calauzenes, AISTATS 2022",
        ("glm/generalized_linear",),
    ),
    "glm/oful_mlogb": Entry(
        OFULMLogB, OFULMLogB(dim=2, norm_bound=2.0), "Zhang & Sugiyama, NeurIPS 2023", ("glm/generalized_linear",)
    ),
    "glm/glm_ucb": Entry(
        GLMUCB,
        GLMUCB(dim=2, n_arms=5, horizon=200, norm_bound=2.0),
        "Filippi, Cappe, Garivier & Szepesvari, NIPS 2010",
        ("glm/generalized_linear",),
    ),
    "glm/rs_glincb": Entry(
        RSGLinCB,
        RSGLinCB.practical(dim=2, n_arms=5, horizon=200, norm_bound=2.0, threshold=1.3),  # its own: 1.31
        "Sawarni, Das, Barman & Sinha, NeurIPS 2024, Algorithm 2",
        ("glm/generalized_linear",),
    ),
    "glm/ofuglb": Entry(
        OFUGLB, OFUGLB(dim=2, n_arms=5, norm_bound=2.0), "Lee, Yun & Jun, NeurIPS 2024", ("glm/generalized_linear",)
    ),
    "glm/ofulog_r": Entry(
        OFULogR,
        OFULogR(dim=2, n_arms=5, norm_bound=2.0),
        "Abeille, Faury & Calauzenes, AISTATS 2021",
        ("glm/generalized_linear",),
    ),
    "oco/ogd": Entry(OGD, OGD(dim=2), "Zinkevich, ICML 2003", ("oco/linear_losses",)),
    "oco/oons": Entry(
        OONS, OONS.theory(dim=2), "Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 1", ("oco/linear_losses",)
    ),
    "oco/msmwc": Entry(
        MsMwC, MsMwC(n_experts=2), "Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 5", ("oco/linear_losses",)
    ),
    "oco/msmwc_master": Entry(
        MsMwCMaster,
        MsMwCMaster(n_experts=2),
        "Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 3",
        ("oco/linear_losses",),
    ),
    "oco/ca_oons": Entry(
        CAOONS,
        CAOONS.theory(dim=2, horizon=16),
        "Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 2",
        ("oco/linear_losses",),
    ),
    "oco/anytime_ca_oons": Entry(
        AnytimeCAOONS,
        AnytimeCAOONS.theory(dim=2, horizon=16),
        "Wang, Barik, Zhao & Tan, NeurIPS 2025, Remark 4.4",
        ("oco/linear_losses",),
    ),
    "oco/cla_oons": Entry(
        CLAOONS, CLAOONS(dim=2), "Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 4", ("oco/linear_losses",)
    ),
    "oco/optimistic_omd": Entry(OptimisticOMD, OptimisticOMD(dim=2), "Chen et al., JMLR 2024", ("oco/linear_losses",)),
    "oco/optimistic_ftrl_2022": Entry(
        OptimisticFTRL2022, OptimisticFTRL2022(dim=2), "Sachs et al., NeurIPS 2022", ("oco/linear_losses",)
    ),
    "oco/optimistic_ftrl_2023": Entry(
        OptimisticFTRL2023, OptimisticFTRL2023(dim=2), "Sachs et al., 2023", ("oco/linear_losses",)
    ),
    "oco/adagrad_norm": Entry(AdaGradNorm, AdaGradNorm(dim=2), "McMahan & Streeter, COLT 2010", ("oco/linear_losses",)),
    "oco/kt_betting": Entry(KTBetting, KTBetting(dim=2), "Orabona & Pal, NeurIPS 2016", ("oco/linear_losses",)),
    "oco/parameter_free_md": Entry(
        ParameterFreeMD, ParameterFreeMD(dim=2), "Jacobsen & Cutkosky, COLT 2022", ("oco/linear_losses",)
    ),
    "oco/clipped_parameter_free_md": Entry(
        ClippedParameterFreeMD,
        ClippedParameterFreeMD(dim=2),
        "reconstruction after Cutkosky, COLT 2019",
        ("oco/linear_losses",),
    ),
    "oco/scale_free_ftrl": Entry(
        ScaleFreeFTRL,
        ScaleFreeFTRL(dim=2, domain=L2Ball()),  # its environment's domain: it would leave it
        "Orabona & Pal, TCS 2018",
        ("oco/linear_losses",),
    ),
    "oco/dog": Entry(DoG, DoG(dim=2), "Ivgi et al., ICML 2023", ("oco/linear_losses",)),
    "oco/dowg": Entry(DoWG, DoWG(dim=2), "Khaled et al., NeurIPS 2023", ("oco/linear_losses",)),
    "oco/optax_learner": Entry(
        OptaxLearner, OptaxLearner.sgd(dim=2), "any optax transformation, round by round", ("oco/linear_losses",)
    ),
    "coco/ofw_tvc": Entry(
        OFWTVC,
        OFWTVC.practical(dim=2, horizon=200, lipschitz=2.0),
        "Wang, Wan & Zhang, AAAI 2025, Algorithm 1",
        ("coco/linear_constraints",),
    ),
    "coco/bfw_tvc": Entry(
        BFWTVC,
        BFWTVC.practical(dim=2, horizon=36, lipschitz=2.0),
        "Wang, Wan & Zhang, AAAI 2025, Algorithm 3",
        ("coco/linear_constraints",),
    ),
    "coco/scbfw_tvc": Entry(
        SCBFWTVC,
        SCBFWTVC.practical(dim=2, horizon=36, lipschitz=3.0),
        "Wang, Wan & Zhang, AAAI 2025, Algorithm 4",
        ("coco/quadratic_constraints",),
    ),
    "coco/loo_bogd": Entry(
        LOOBOGD,
        LOOBOGD.practical(dim=2, horizon=36, lipschitz=2.0, eta=0.3),
        "Garber & Kretzu, COLT 2022, Algorithm 4",
        ("coco/linear_constraints",),
    ),
    "coco/lpm": Entry(
        LPM,
        LPM.practical(dim=2, horizon=36, lipschitz=2.0, eta=0.3),
        "reconstruction after Garber & Kretzu, ICML 2024, Algorithm 4",
        ("coco/linear_constraints",),
    ),
    "coco/lbpm": Entry(
        LBPM,
        LBPM(dim=2, horizon=36, lipschitz=2.0),
        "reconstruction after Garber & Kretzu, ICML 2024, Algorithm 5",
        ("coco/linear_constraints",),
    ),
    "coco/opdp": Entry(
        OPDP,
        OPDP(dim=2, horizon=200, lipschitz=2.0),
        "reconstruction after Lee, Ho-Nguyen & Lee, 2023, Algorithm 1",
        ("coco/linear_constraints",),
    ),
    "coco/scofw_tvc": Entry(
        SCOFWTVC,
        SCOFWTVC.theory(dim=2, horizon=200, curvature=0.5, lipschitz=2.0),
        "Wang, Wan & Zhang, AAAI 2025, Algorithm 2",
        ("coco/linear_constraints",),
    ),
    "coco/pf_ofw": Entry(
        PFOFW,
        PFOFW(dim=2, horizon=200),
        "Wang, Wan & Zhang, AAAI 2025, inside Algorithm 1; ignores constraints",
        ("coco/linear_constraints",),
    ),
    "coco/ofw": Entry(
        OFW,
        OFW(dim=2, horizon=200, lipschitz=2.0),
        "Hazan & Kale, ICML 2012; ignores constraints",
        ("coco/linear_constraints",),
    ),
    "coco/scofw": Entry(
        SCOFW,
        SCOFW(dim=2, curvature=0.5),
        "Wan & Zhang, AAAI 2021; ignores constraints",
        ("coco/linear_constraints",),
    ),
    "coco/sinha_vaze": Entry(
        SinhaVaze,
        SinhaVaze(dim=2, horizon=200, lipschitz=2.0),
        "Sinha & Vaze, NeurIPS 2024, convex losses; projects",
        ("coco/linear_constraints",),
    ),
    "coco/strongly_convex_sinha_vaze": Entry(
        StronglyConvexSinhaVaze,
        StronglyConvexSinhaVaze(dim=2, horizon=200, curvature=0.5, lipschitz=2.0),
        "Sinha & Vaze, NeurIPS 2024, strongly convex losses; projects",
        ("coco/linear_constraints",),
    ),
    "dro/smd": Entry(
        SMD,
        SMD(dim=3, n_groups=4, horizon=200),
        "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 1",
        ("dro/synthetic_groups",),
    ),
    "dro/anytime_smd": Entry(
        AnytimeSMD,
        AnytimeSMD(dim=3, n_groups=4),
        "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Section 3.2.1",
        ("dro/synthetic_groups",),
    ),
    "dro/online": Entry(
        Online,
        Online(dim=3, n_groups=4, horizon=200),
        "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 2",
        ("dro/synthetic_groups", "dro/group_data"),
    ),
    "dro/anytime_online": Entry(
        AnytimeOnline,
        AnytimeOnline(dim=3, n_groups=4),
        "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Section 3.3.1",
        ("dro/synthetic_groups",),
    ),
    "dro/smd_r": Entry(
        SMDr,
        SMDr(dim=3, budgets=(200, 150, 100, 50)),
        "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 3",
        ("dro/synthetic_groups",),
    ),
    "dro/smpa": Entry(
        SMPA,
        SMPA(dim=3, budgets=(200, 150, 100, 50)),
        "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 4",
        ("dro/synthetic_groups",),
    ),
    "dro/atkro_m": Entry(
        ATkROm,
        ATkROm(dim=3, n_groups=4, k=2, horizon=200),
        "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 5",
        ("dro/synthetic_groups",),
    ),
    "dro/anytime_atkro_m": Entry(
        AnytimeATkROm,
        AnytimeATkROm(dim=3, n_groups=4, k=2),
        "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Theorem 13",
        ("dro/synthetic_groups",),
    ),
    "dro/atkro_k": Entry(
        ATkROk,
        ATkROk(dim=3, n_groups=4, k=2, horizon=200),
        "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 6",
        ("dro/synthetic_groups",),
    ),
    "dro/anytime_atkro_1": Entry(
        AnytimeATkRO1,
        AnytimeATkRO1(dim=3, n_groups=4, k=2),
        "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 7",
        ("dro/synthetic_groups",),
    ),
    "dro/sagawa_smd": Entry(
        SagawaSMD,
        SagawaSMD(dim=3, n_groups=4, horizon=200),
        "Sagawa, Koh, Hashimoto & Liang, ICLR 2020: SMD(1), a baseline",
        ("dro/synthetic_groups",),
    ),
    "dro/haghtalab": Entry(
        Haghtalab,
        Haghtalab(dim=3, n_groups=4, horizon=200),
        "Haghtalab, Jordan & Zhao, NeurIPS 2022, first version: a comparator",
        ("dro/synthetic_groups",),
    ),
    "dro/soma": Entry(
        Soma,
        Soma(dim=3, n_groups=4, horizon=200),
        "Soma, Gatmiry & Jegelka, 2022: a comparator",
        ("dro/synthetic_groups",),
    ),
}


def register_algorithm(name: str, entry: Entry) -> None:
    """Adds your own algorithm under `family/name`, for every tool that goes through the registry.

    Raises:
      ValueError: when the name is taken or malformed.
    """
    registry.add(ALGORITHMS, name, entry)


registry.discover(ALGORITHMS, "jaxbandits.algorithms")  # last: what it loads may import this module
