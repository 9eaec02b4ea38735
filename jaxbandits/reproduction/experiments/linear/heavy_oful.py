"""The setting of HEAVY-OFUL's own experiment: ten dimensions, fresh arms in every round."""


from jaxbandits.linear import CRTM, OFUL, TOFU, FreshArms, HeavyOFUL, HvtUCB, Uniform
from jaxbandits.reproduction.engine import Curves, Experiment, Learners, Panel, Problem
from jaxbandits.reproduction.experiments.linear.setting import PRESETS, largest_scale
from jaxbandits.reproduction.sentences import MUCH, mean, observations

_DECADES = {"scale0": (0.0, "noise of constant scale"), "scale2": (2.0, "log10 of the scale uniform on (0, 2)")}
_PLACE = {"place": "the experiment of Huang et al."}


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    """Make the learners of Figure 4: HEAVY-OFUL and Hvt-UCB receive nu_t in each round, others its largest value."""
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
    title="the setting of HEAVY-OFUL's own experiment",
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
                      says="HEAVY-OFUL is better than TOFU in its own setting", **_PLACE),
        *observations("comparable", mean("Hvt-UCB").close_to(mean("HEAVY-OFUL")), on=_DECADES.keys(),
                      says="Hvt-UCB is comparable to HEAVY-OFUL in this setting", **_PLACE),
        *observations("far-ahead", mean("HEAVY-OFUL", "Hvt-UCB") < 1.0 / MUCH * mean("OFUL", "CRTM", "TOFU"),
                      on="scale2", says="knowing nu_t puts {label} far ahead of {rival} in this setting", **_PLACE),
    ),
    notes=(
        "d = 10, K = 20, arms of norm 1 with positive coordinates, theta* = (1, ..., 1)/sqrt(d), Student t noise (2), "
        "eps = 0.99, as in public code for the paper. T is 1000 instead of the 10,000 of that code, because a round of "
        "HEAVY-OFUL costs O(t d^2). MENU is left out, because that code keeps one arm set for a whole epoch of MENU.",
        "The multipliers were tuned on Figure 1 (d = 2), not on this setting.",
        "HEAVY-OFUL and TOFU run only on the first 64 seeds. Comparisons with them use these seeds.",
    ),
    slow={"HEAVY-OFUL": 64, "TOFU": 64},
    width=32,
    figures=(Curves(not_drawn=("uniform",)),),
)
