"""Setting of the experiment in HEAVY-OFUL's own paper: ten dimensions, and new arms in every round."""


from jaxbandits.linear import CRTM, OFUL, TOFU, FreshArms, HeavyOFUL, HvtUCB, Uniform
from jaxbandits.reproduction.engine import Curves, Experiment, Learners, Panel, Problem
from jaxbandits.reproduction.experiments.linear.setting import PRESETS, largest_scale
from jaxbandits.reproduction.sentences import MUCH, mean, observations

_DECADES = {"scale0": (0.0, "noise of constant scale"), "scale2": (2.0, "log10 of the scale uniform on (0, 2)")}
_PLACE = {"place": "the experiment of Huang et al."}


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    """Make learners: HEAVY-OFUL and Hvt-UCB receive nu_t in every round, and the others receive its largest value."""
    environment: Problem = panel.environment
    bound = largest_scale(environment)
    common = {"dim": environment.dim, "horizon": horizon}
    moments = {**common, "eps": float(environment.eps)}
    return {
        "HEAVY-OFUL": getattr(HeavyOFUL, preset)(**moments),
        "TOFU": getattr(TOFU, preset)(**moments, noise_scale=bound),
        "Hvt-UCB": getattr(HvtUCB, preset)(**moments),
        "CRTM": getattr(CRTM, preset)(**moments, noise_scale=bound),
        "OFUL": getattr(OFUL, preset)(**common, noise_scale=bound),
        "uniform": Uniform(dim=environment.dim),
    }


HEAVY_OFUL = Experiment(
    name="linear/heavy-oful",
    title="the setting of the experiment in HEAVY-OFUL's paper",
    source="Huang, Zhong, Wang & Yang, NeurIPS 2023",
    horizon=1_000,
    seeds=256,
    presets=PRESETS,
    algorithms=_learners,
    panels=lambda horizon: {
        name: Panel(title, FreshArms(noise_decades=decades)) for name, (decades, title) in _DECADES.items()
    },
    metric="regret",
    claims=(
        *observations("beats-tofu", mean("HEAVY-OFUL") < mean("TOFU"), on=_DECADES.keys(),
                      says="HEAVY-OFUL is better than TOFU in the experiment of its authors", **_PLACE),
        *observations("comparable", mean("Hvt-UCB").close_to(mean("HEAVY-OFUL")), on=_DECADES.keys(),
                      says="Hvt-UCB is comparable to HEAVY-OFUL in this setting", **_PLACE),
        *observations("far-ahead", mean("HEAVY-OFUL", "Hvt-UCB") < 1.0 / MUCH * mean("OFUL", "CRTM", "TOFU"),
                      on="scale2", says="knowing nu_t, {label} is far ahead of {rival}", **_PLACE),
    ),
    notes=(
        "As in public code for the paper, d = 10, K = 20, arms have norm 1 and positive coordinates, theta* = (1, ..., "
        "1)/sqrt(d), the noise is Student's t(2), and eps = 0.99. T is 1,000, not 10,000 as in that code, because a "
        "round of HEAVY-OFUL costs O(t d^2). MENU is omitted, because that code keeps one arm set for a whole epoch of "
        "MENU.",
        "The multipliers of the preset practical were tuned on Figure 1 (d = 2), not on this setting.",
        "HEAVY-OFUL and TOFU run only on the first 64 seeds. Comparisons with them use these seeds.",
    ),
    slow={"HEAVY-OFUL": 64, "TOFU": 64},
    width=32,
    figures=(Curves(not_drawn=("uniform",)),),
)
