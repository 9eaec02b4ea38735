"""Two settings that "Heavy-Tailed Linear Bandits" (Wang et al., ICML 2025) discusses in Section 6, run as ours.

The paper gives neither algorithms nor experiments for them: instances, sizes, learners and statements are ours.
"""

from collections.abc import Mapping
from typing import Any

from jaxbandits.algorithms.linear.hvt_identification import HvtIdentification
from jaxbandits.algorithms.linear.hvt_mdp import HvtMDP
from jaxbandits.algorithms.linear.oful_mdp import OFULMDP
from jaxbandits.algorithms.linear.recursive_least_squares import RecursiveLeastSquares
from jaxbandits.environments.linear.linear_mdp import LinearMDP
from jaxbandits.environments.linear.linear_system import LinearSystem
from jaxbandits.environments.linear.noise import StudentT
from jaxbandits.experiments.declare import Claim, Experiment, Panel
from jaxbandits.experiments.statistic import mean_difference, win_share

_PAPER = "Wang, Zhang, Zhao & Zhou, ICML 2025"
_OURS = "The paper discusses this setting without an algorithm, a theorem or an experiment: all of it is ours."
_UNTUNED = "Multipliers are those of the bandit figures (a coarse grid on Figure 1), not tuned here."
_EPS = 0.99


def _mdp_learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    """Both are told the moment bound of Figure 1."""
    common = {"dim": panel.environment.dim, "steps": panel.environment.steps, "horizon": horizon}
    return {
        "Hvt estimators": getattr(HvtMDP, preset)(**common, eps=_EPS, moment_bound=1.31),
        "OFUL estimators": getattr(OFULMDP, preset)(**common, noise_scale=1.31),
    }


MDP = Experiment(
    name="linear/mdp",
    title="Linear MDP with Student t rewards (2.1 degrees of freedom)",
    source=f"ours, after the discussion in {_PAPER}, Section 6.1",
    horizon=1500,
    seeds=256,
    presets={
        "practical": "radii multiplied by 2e-4 (Hvt) and 0.3 (OFUL), Huber threshold by 0.1, as in the bandit figures",
        "theory": "every constant as the theorems on bandits state it, for each step of the episode",
    },
    algorithms=_mdp_learners,
    panels=lambda horizon: {
        "mdp": Panel(
            "4 steps, 6 states, 4 actions, d = 3",
            LinearMDP(n_states=6, n_actions=4, dim=3, steps=4, noise=StudentT(df=2.1), eps=_EPS, concentration=0.3),
        )
    },
    metric="regret",
    claims=(
        Claim(
            "ours: Hvt estimators have lower mean regret than OFUL's",
            "ours; Section 6.1", mean_difference("mdp", "Hvt estimators", "OFUL estimators"), high=0.0,
        ),
        Claim(
            "ours: Hvt estimators end below OFUL's in most trials",
            "ours; Section 6.1", win_share("mdp", "Hvt estimators", "OFUL estimators"), low=0.5,
        ),
    ),
    notes=(
        _OURS, _UNTUNED,
        "A round is an episode. The moment bound told is 1.31; the exact one of t(2.1) at eps = 0.99 is 4.388.",
    ),
)  # fmt: skip


def _identifiers(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    """Hvt is told the exact scale of each disturbance by the environment."""
    del panel
    size = {"n_states": 2, "n_inputs": 1}
    common = {"horizon": horizon, "eps": _EPS, "norm_bound": 2.0, "ridge": 1.0}
    hvt = getattr(HvtIdentification, preset)
    return {
        "Hvt, tau_scale 1": hvt(**size, **common, tau_scale=1.0),
        "Hvt, tau_scale 0.1": hvt(**size, **common, tau_scale=0.1),
        "RLS": RecursiveLeastSquares(**size, ridge=1.0),
    }


SYSID = Experiment(
    name="linear/sysid",
    title="Identification of a linear system under Student t disturbances (2.1 degrees of freedom)",
    source=f"ours, after the discussion in {_PAPER}, Section 6.2",
    horizon=3000,
    seeds=256,
    presets={"practical": "beta multiplied by 2e-4 (Hvt), as in the bandit figures; the multiplier of tau is shown"},
    algorithms=_identifiers,
    panels=lambda horizon: {
        "system": Panel("2 states, 1 input", LinearSystem(noise=StudentT(df=2.1, spread=0.3), eps=_EPS))
    },
    metric="estimation_error",
    claims=(
        Claim(
            "ours: Hvt with tau_scale 0.1 is no worse than RLS by a factor 1.1: mean error below 1.1 times RLS's",
            "ours; Section 6.2",
            mean_difference("system", "Hvt, tau_scale 0.1", "RLS", factor=1.1, metric="estimation_error"), high=0.0,
        ),
        Claim(
            "ours: Hvt identifies better than RLS: mean error of Hvt with tau_scale 0.1 below RLS's",
            "ours; Section 6.2",
            mean_difference("system", "Hvt, tau_scale 0.1", "RLS", metric="estimation_error"), high=0.0,
        ),
        Claim(
            "ours: clipping helps: mean error with tau_scale 0.1 below that with tau_scale 1",
            "ours; Section 6.2",
            mean_difference("system", "Hvt, tau_scale 0.1", "Hvt, tau_scale 1", metric="estimation_error"), high=0.0,
        ),
    ),
    notes=(
        _OURS, _UNTUNED,
        "RLS has no factor 16/7 in its variance (step size 4 of Hvt), and heavy disturbances also excite the state.",
    ),
)  # fmt: skip

EXTENSIONS = (MDP, SYSID)
