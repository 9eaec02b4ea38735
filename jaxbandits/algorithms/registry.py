"""The registry of algorithms, written out by hand; a row's class is imported and its example made when asked for."""

from typing import Any

from jaxbandits.base import registry
from jaxbandits.base.registry import Entry, Registry, Row


def _ball() -> Any:
    from jaxbandits.domains.ball import L2Ball

    return L2Ball()


ALGORITHMS = Registry(
    {
        "linear/hvt_ucb": Row(
            "jaxbandits.algorithms.linear.hvt_ucb:HvtUCB",
            lambda cls: cls.practical(dim=2, horizon=200, eps=0.99),
            "Wang, Zhang, Zhao & Zhou, ICML 2025, Algorithm 1",
            ("linear/heavy_tailed",),
        ),
        "linear/oful": Row(
            "jaxbandits.algorithms.linear.oful:OFUL",
            lambda cls: cls.practical(dim=2, horizon=200),
            "Abbasi-Yadkori, Pal & Szepesvari, NeurIPS 2011, Theorem 2",
            ("linear/heavy_tailed",),
        ),
        "linear/heavy_oful": Row(
            "jaxbandits.algorithms.linear.heavy_oful:HeavyOFUL",
            lambda cls: cls.practical(dim=2, horizon=40, eps=0.99, capacity=64),
            "Huang et al., NeurIPS 2023, Algorithm 1",
            ("linear/heavy_tailed",),
        ),
        "linear/crtm": Row(
            "jaxbandits.algorithms.linear.crtm:CRTM",
            lambda cls: cls.practical(dim=2, horizon=200, eps=0.99),
            "Xue et al., NeurIPS 2023",
            ("linear/heavy_tailed",),
        ),
        "linear/crmm": Row(
            "jaxbandits.algorithms.linear.crmm:CRMM",
            lambda cls: cls.practical(dim=2, horizon=200, eps=0.99),
            "Xue et al., NeurIPS 2023",
            ("linear/heavy_tailed",),
        ),
        "linear/menu": Row(
            "jaxbandits.algorithms.linear.menu:MENU",
            lambda cls: cls.practical(dim=2, horizon=200, eps=0.99, reps=5),
            "Shao et al., NeurIPS 2018",
            ("linear/heavy_tailed",),
        ),
        "linear/tofu": Row(
            "jaxbandits.algorithms.linear.tofu:TOFU",
            lambda cls: cls.practical(dim=2, horizon=200, eps=0.99),
            "Shao et al., NeurIPS 2018",
            ("linear/heavy_tailed",),
        ),
        "linear/uniform": Row(
            "jaxbandits.algorithms.linear.uniform:Uniform",
            lambda cls: cls(dim=2),
            "uniformly random play, the floor of every comparison",
            ("linear/heavy_tailed",),
        ),
        "linear/hvt_mdp": Row(
            "jaxbandits.algorithms.linear.hvt_mdp:HvtMDP",
            lambda cls: cls.practical(dim=2, steps=2, horizon=200, eps=0.99),
            "ours, after Wang, Zhang, Zhao & Zhou, ICML 2025, Section 6.1",
            ("linear/linear_mdp",),
        ),
        "linear/oful_mdp": Row(
            "jaxbandits.algorithms.linear.oful_mdp:OFULMDP",
            lambda cls: cls.practical(dim=2, steps=2, horizon=200),
            "ours, on Abbasi-Yadkori, Pal & Szepesvari, NeurIPS 2011",
            ("linear/linear_mdp",),
        ),
        "linear/hvt_identification": Row(
            "jaxbandits.algorithms.linear.hvt_identification:HvtIdentification",
            lambda cls: cls.practical(n_states=2, n_inputs=1, horizon=200, eps=0.99),
            "ours, after Wang, Zhang, Zhao & Zhou, ICML 2025, Section 6.2",
            ("linear/linear_system",),
        ),
        "linear/recursive_least_squares": Row(
            "jaxbandits.algorithms.linear.recursive_least_squares:RecursiveLeastSquares",
            lambda cls: cls(n_states=2, n_inputs=1),
            "Plackett, Biometrika 1950",
            ("linear/linear_system",),
        ),
        "glm/glb_omd": Row(
            "jaxbandits.algorithms.glm.glb_omd:GLBOMD",
            lambda cls: cls.experiments(dim=2, norm_bound=3.0),
            "Zhang, Xu, Zhao & Sugiyama, NeurIPS 2025, Algorithm 1",
            ("glm/generalized_linear",),
        ),
        "glm/gloc": Row(
            "jaxbandits.algorithms.glm.gloc:GLOC",
            lambda cls: cls(dim=2, norm_bound=2.0),
            "Jun, Bhargava, Nowak & Willett, NeurIPS 2017",
            ("glm/generalized_linear",),
        ),
        "glm/ecolog": Row(
            "jaxbandits.algorithms.glm.ecolog:ECOLog",
            lambda cls: cls(dim=2, norm_bound=2.0),
            "Faury, Abeille, Jun & Calauzenes, AISTATS 2022",
            ("glm/generalized_linear",),
        ),
        "glm/ada_ofu_ecolog": Row(
            "jaxbandits.algorithms.glm.ada_ofu_ecolog:AdaOFUECOLog",
            lambda cls: cls(dim=2, n_arms=5, norm_bound=2.0, ridge=0.1, warmup_scale=1e-3),
            "Faury, Abeille, Jun & Calauzenes, AISTATS 2022",
            ("glm/generalized_linear",),
        ),
        "glm/oful_mlogb": Row(
            "jaxbandits.algorithms.glm.oful_mlogb:OFULMLogB",
            lambda cls: cls(dim=2, norm_bound=2.0),
            "Zhang & Sugiyama, NeurIPS 2023",
            ("glm/generalized_linear",),
        ),
        "glm/glm_ucb": Row(
            "jaxbandits.algorithms.glm.glm_ucb:GLMUCB",
            lambda cls: cls(dim=2, n_arms=5, horizon=200, norm_bound=2.0),
            "Filippi, Cappe, Garivier & Szepesvari, NIPS 2010",
            ("glm/generalized_linear",),
        ),
        "glm/rs_glincb": Row(
            "jaxbandits.algorithms.glm.rs_glincb:RSGLinCB",
            lambda cls: cls.practical(dim=2, n_arms=5, horizon=200, norm_bound=2.0, threshold=1.3),  # its own: 1.31
            "Sawarni, Das, Barman & Sinha, NeurIPS 2024, Algorithm 2",
            ("glm/generalized_linear",),
        ),
        "glm/ofuglb": Row(
            "jaxbandits.algorithms.glm.ofuglb:OFUGLB",
            lambda cls: cls(dim=2, n_arms=5, norm_bound=2.0),
            "Lee, Yun & Jun, NeurIPS 2024",
            ("glm/generalized_linear",),
        ),
        "glm/ofulog_r": Row(
            "jaxbandits.algorithms.glm.ofulog_r:OFULogR",
            lambda cls: cls(dim=2, n_arms=5, norm_bound=2.0),
            "Abeille, Faury & Calauzenes, AISTATS 2021",
            ("glm/generalized_linear",),
        ),
        "oco/ogd": Row(
            "jaxbandits.algorithms.oco.ogd:OGD",
            lambda cls: cls(dim=2),
            "Zinkevich, ICML 2003",
            ("oco/linear_losses",),
        ),
        "oco/oons": Row(
            "jaxbandits.algorithms.oco.oons:OONS",
            lambda cls: cls.theory(dim=2),
            "Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 1",
            ("oco/linear_losses",),
        ),
        "oco/msmwc": Row(
            "jaxbandits.algorithms.oco.msmwc:MsMwC",
            lambda cls: cls(n_experts=2),
            "Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 5",
            ("oco/linear_losses",),
        ),
        "oco/msmwc_master": Row(
            "jaxbandits.algorithms.oco.msmwc_master:MsMwCMaster",
            lambda cls: cls(n_experts=2),
            "Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 3",
            ("oco/linear_losses",),
        ),
        "oco/ca_oons": Row(
            "jaxbandits.algorithms.oco.ca_oons:CAOONS",
            lambda cls: cls.theory(dim=2, horizon=16),
            "Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 2",
            ("oco/linear_losses",),
        ),
        "oco/anytime_ca_oons": Row(
            "jaxbandits.algorithms.oco.anytime_ca_oons:AnytimeCAOONS",
            lambda cls: cls.theory(dim=2, horizon=16),
            "Wang, Barik, Zhao & Tan, NeurIPS 2025, Remark 4.4",
            ("oco/linear_losses",),
        ),
        "oco/cla_oons": Row(
            "jaxbandits.algorithms.oco.cla_oons:CLAOONS",
            lambda cls: cls(dim=2),
            "Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 4",
            ("oco/linear_losses",),
        ),
        "oco/optimistic_omd": Row(
            "jaxbandits.algorithms.oco.optimistic_omd:OptimisticOMD",
            lambda cls: cls(dim=2),
            "Chen et al., JMLR 2024",
            ("oco/linear_losses",),
        ),
        "oco/optimistic_ftrl_2022": Row(
            "jaxbandits.algorithms.oco.optimistic_ftrl_2022:OptimisticFTRL2022",
            lambda cls: cls(dim=2),
            "Sachs et al., NeurIPS 2022",
            ("oco/linear_losses",),
        ),
        "oco/optimistic_ftrl_2023": Row(
            "jaxbandits.algorithms.oco.optimistic_ftrl_2023:OptimisticFTRL2023",
            lambda cls: cls(dim=2),
            "Sachs et al., 2023",
            ("oco/linear_losses",),
        ),
        "oco/adagrad_norm": Row(
            "jaxbandits.algorithms.oco.adagrad_norm:AdaGradNorm",
            lambda cls: cls(dim=2),
            "McMahan & Streeter, COLT 2010",
            ("oco/linear_losses",),
        ),
        "oco/kt_betting": Row(
            "jaxbandits.algorithms.oco.kt_betting:KTBetting",
            lambda cls: cls(dim=2),
            "Orabona & Pal, NeurIPS 2016",
            ("oco/linear_losses",),
        ),
        "oco/parameter_free_md": Row(
            "jaxbandits.algorithms.oco.parameter_free_md:ParameterFreeMD",
            lambda cls: cls(dim=2),
            "Jacobsen & Cutkosky, COLT 2022",
            ("oco/linear_losses",),
        ),
        "oco/clipped_parameter_free_md": Row(
            "jaxbandits.algorithms.oco.clipped_parameter_free_md:ClippedParameterFreeMD",
            lambda cls: cls(dim=2),
            "reconstruction after Cutkosky, COLT 2019",
            ("oco/linear_losses",),
        ),
        "oco/scale_free_ftrl": Row(
            "jaxbandits.algorithms.oco.scale_free_ftrl:ScaleFreeFTRL",
            lambda cls: cls(dim=2, domain=_ball()),  # its environment's domain: it would leave it
            "Orabona & Pal, TCS 2018",
            ("oco/linear_losses",),
        ),
        "oco/dog": Row(
            "jaxbandits.algorithms.oco.dog:DoG",
            lambda cls: cls(dim=2),
            "Ivgi et al., ICML 2023",
            ("oco/linear_losses",),
        ),
        "oco/dowg": Row(
            "jaxbandits.algorithms.oco.dowg:DoWG",
            lambda cls: cls(dim=2),
            "Khaled et al., NeurIPS 2023",
            ("oco/linear_losses",),
        ),
        "oco/optax_learner": Row(
            "jaxbandits.algorithms.oco.optax_learner:OptaxLearner",
            lambda cls: cls.sgd(dim=2),
            "any optax transformation, round by round",
            ("oco/linear_losses",),
        ),
        "coco/ofw_tvc": Row(
            "jaxbandits.algorithms.coco.ofw_tvc:OFWTVC",
            lambda cls: cls.practical(dim=2, horizon=200, lipschitz=2.0),
            "Wang, Wan & Zhang, AAAI 2025, Algorithm 1",
            ("coco/linear_constraints",),
        ),
        "coco/bfw_tvc": Row(
            "jaxbandits.algorithms.coco.bfw_tvc:BFWTVC",
            lambda cls: cls.practical(dim=2, horizon=36, lipschitz=2.0),
            "Wang, Wan & Zhang, AAAI 2025, Algorithm 3",
            ("coco/linear_constraints",),
        ),
        "coco/scbfw_tvc": Row(
            "jaxbandits.algorithms.coco.scbfw_tvc:SCBFWTVC",
            lambda cls: cls.practical(dim=2, horizon=36, lipschitz=3.0),
            "Wang, Wan & Zhang, AAAI 2025, Algorithm 4",
            ("coco/quadratic_constraints",),
        ),
        "coco/loo_bogd": Row(
            "jaxbandits.algorithms.coco.loo_bogd:LOOBOGD",
            lambda cls: cls.practical(dim=2, horizon=36, lipschitz=2.0, eta=0.3),
            "Garber & Kretzu, COLT 2022, Algorithm 4",
            ("coco/linear_constraints",),
        ),
        "coco/lpm": Row(
            "jaxbandits.algorithms.coco.lpm:LPM",
            lambda cls: cls.practical(dim=2, horizon=36, lipschitz=2.0, eta=0.3),
            "reconstruction after Garber & Kretzu, ICML 2024, Algorithm 4",
            ("coco/linear_constraints",),
        ),
        "coco/lbpm": Row(
            "jaxbandits.algorithms.coco.lbpm:LBPM",
            lambda cls: cls(dim=2, horizon=36, lipschitz=2.0),
            "reconstruction after Garber & Kretzu, ICML 2024, Algorithm 5",
            ("coco/linear_constraints",),
        ),
        "coco/opdp": Row(
            "jaxbandits.algorithms.coco.opdp:OPDP",
            lambda cls: cls(dim=2, horizon=200, lipschitz=2.0),
            "reconstruction after Lee, Ho-Nguyen & Lee, 2023, Algorithm 1",
            ("coco/linear_constraints",),
        ),
        "coco/scofw_tvc": Row(
            "jaxbandits.algorithms.coco.scofw_tvc:SCOFWTVC",
            lambda cls: cls.theory(dim=2, horizon=200, curvature=0.5, lipschitz=2.0),
            "Wang, Wan & Zhang, AAAI 2025, Algorithm 2",
            ("coco/linear_constraints",),
        ),
        "coco/pf_ofw": Row(
            "jaxbandits.algorithms.coco.pf_ofw:PFOFW",
            lambda cls: cls(dim=2, horizon=200),
            "Wang, Wan & Zhang, AAAI 2025, inside Algorithm 1; ignores constraints",
            ("coco/linear_constraints",),
        ),
        "coco/ofw": Row(
            "jaxbandits.algorithms.coco.ofw:OFW",
            lambda cls: cls(dim=2, horizon=200, lipschitz=2.0),
            "Hazan & Kale, ICML 2012; ignores constraints",
            ("coco/linear_constraints",),
        ),
        "coco/scofw": Row(
            "jaxbandits.algorithms.coco.scofw:SCOFW",
            lambda cls: cls(dim=2, curvature=0.5),
            "Wan & Zhang, AAAI 2021; ignores constraints",
            ("coco/linear_constraints",),
        ),
        "coco/sinha_vaze": Row(
            "jaxbandits.algorithms.coco.sinha_vaze:SinhaVaze",
            lambda cls: cls(dim=2, horizon=200, lipschitz=2.0),
            "Sinha & Vaze, NeurIPS 2024, convex losses; projects",
            ("coco/linear_constraints",),
        ),
        "coco/strongly_convex_sinha_vaze": Row(
            "jaxbandits.algorithms.coco.strongly_convex_sinha_vaze:StronglyConvexSinhaVaze",
            lambda cls: cls(dim=2, horizon=200, curvature=0.5, lipschitz=2.0),
            "Sinha & Vaze, NeurIPS 2024, strongly convex losses; projects",
            ("coco/linear_constraints",),
        ),
        "dro/smd": Row(
            "jaxbandits.algorithms.dro.smd:SMD",
            lambda cls: cls(dim=3, n_groups=4, horizon=200),
            "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 1",
            ("dro/synthetic_groups",),
        ),
        "dro/anytime_smd": Row(
            "jaxbandits.algorithms.dro.anytime_smd:AnytimeSMD",
            lambda cls: cls(dim=3, n_groups=4),
            "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Section 3.2.1",
            ("dro/synthetic_groups",),
        ),
        "dro/online": Row(
            "jaxbandits.algorithms.dro.online:Online",
            lambda cls: cls(dim=3, n_groups=4, horizon=200),
            "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 2",
            ("dro/synthetic_groups", "dro/group_data"),
        ),
        "dro/anytime_online": Row(
            "jaxbandits.algorithms.dro.anytime_online:AnytimeOnline",
            lambda cls: cls(dim=3, n_groups=4),
            "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Section 3.3.1",
            ("dro/synthetic_groups",),
        ),
        "dro/smd_r": Row(
            "jaxbandits.algorithms.dro.smd_r:SMDr",
            lambda cls: cls(dim=3, budgets=(200, 150, 100, 50)),
            "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 3",
            ("dro/synthetic_groups",),
        ),
        "dro/smpa": Row(
            "jaxbandits.algorithms.dro.smpa:SMPA",
            lambda cls: cls(dim=3, budgets=(200, 150, 100, 50)),
            "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 4",
            ("dro/synthetic_groups",),
        ),
        "dro/atkro_m": Row(
            "jaxbandits.algorithms.dro.atkro_m:ATkROm",
            lambda cls: cls(dim=3, n_groups=4, k=2, horizon=200),
            "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 5",
            ("dro/synthetic_groups",),
        ),
        "dro/anytime_atkro_m": Row(
            "jaxbandits.algorithms.dro.anytime_atkro_m:AnytimeATkROm",
            lambda cls: cls(dim=3, n_groups=4, k=2),
            "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Theorem 13",
            ("dro/synthetic_groups",),
        ),
        "dro/atkro_k": Row(
            "jaxbandits.algorithms.dro.atkro_k:ATkROk",
            lambda cls: cls(dim=3, n_groups=4, k=2, horizon=200),
            "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 6",
            ("dro/synthetic_groups",),
        ),
        "dro/anytime_atkro_1": Row(
            "jaxbandits.algorithms.dro.anytime_atkro_1:AnytimeATkRO1",
            lambda cls: cls(dim=3, n_groups=4, k=2),
            "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 7",
            ("dro/synthetic_groups",),
        ),
        "dro/sagawa_smd": Row(
            "jaxbandits.algorithms.dro.sagawa_smd:SagawaSMD",
            lambda cls: cls(dim=3, n_groups=4, horizon=200),
            "Sagawa, Koh, Hashimoto & Liang, ICLR 2020: SMD(1), a baseline",
            ("dro/synthetic_groups",),
        ),
        "dro/haghtalab": Row(
            "jaxbandits.algorithms.dro.haghtalab:Haghtalab",
            lambda cls: cls(dim=3, n_groups=4, horizon=200),
            "Haghtalab, Jordan & Zhao, NeurIPS 2022, first version: a comparator",
            ("dro/synthetic_groups",),
        ),
        "dro/soma": Row(
            "jaxbandits.algorithms.dro.soma:Soma",
            lambda cls: cls(dim=3, n_groups=4, horizon=200),
            "Soma, Gatmiry & Jegelka, 2022: a comparator",
            ("dro/synthetic_groups",),
        ),
    }
)


def register_algorithm(name: str, entry: Entry) -> None:
    """Adds your own algorithm under `family/name`, for every tool that goes through the registry.

    Raises:
      ValueError: when the name is taken or malformed.
    """
    registry.add(ALGORITHMS, name, entry)


registry.discover(ALGORITHMS, "jaxbandits.algorithms")  # last: what it loads may import this module
