"""Sensitivity of Hvt-UCB to its tuning and to the given bounds: our sweep over five hyperparameters."""


from jaxbandits.algorithms.linear.multipliers import MULTIPLIERS
from jaxbandits.base.pytree import Fields
from jaxbandits.linear import HeavyTailed, HvtUCB, noise
from jaxbandits.reproduction.engine import Experiment, Heatmap, Learners, Panel
from jaxbandits.reproduction.experiments.linear.setting import multipliers_of
from jaxbandits.reproduction.sentences import at_point, observations
from jaxbandits.simulation import Grid, product

_DIM, _NU, _EPS = 2, 1.31, 0.99
_TUNED = MULTIPLIERS["hvt_ucb"]
_BETA = _TUNED["beta_scale"]
NOMINAL = {**_TUNED, "step_size": 4.0, "moment_bound": _NU, "eps": _EPS}
GRID = {
    "beta_scale": (0.1 * _BETA, _BETA, 10.0 * _BETA, 100.0 * _BETA, 1.0),
    "tau_scale": tuple(sorted({0.01, 0.03, 0.1, 0.3, 1.0} | {_TUNED["tau_scale"]})),
    "step_size": (1.0, 2.0, 4.0),
    "moment_bound": tuple(_NU * factor for factor in (0.1, 0.3, 1.0, 3.0, 10.0)),
    "eps": (0.5, 0.75, _EPS),
}


def _algorithms(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, panel
    learner = HvtUCB.practical(dim=_DIM, horizon=horizon, eps=_EPS, moment_bound=_NU)
    return {"Hvt-UCB": Grid(learner, product(GRID))}


_SWEPT: Fields = {"on": "max", "labels": ("Hvt-UCB",)}

SENSITIVITY = Experiment(
    name="linear/sensitivity",
    title="sensitivity of Hvt-UCB to its tuning",
    source="ours, on Figure 1 of Wang, Zhang, Zhao & Zhou, ICML 2025",
    horizon=6_000,
    seeds=64,
    presets={"practical": f"nominal point: {multipliers_of('hvt_ucb')}, alpha = 4, nu = 1.31, eps = 0.99"},
    algorithms=_algorithms,
    panels=lambda horizon: {
        "max": Panel(
            "arms divided by the largest norm", HeavyTailed(dim=_DIM, n_arms=50, noise=noise.StudentT(df=2.1), eps=_EPS)
        )
    },
    metric="regret",
    record_points=6,
    claims=(
        *(
            claim
            for id, says, changes in (
                ("nu-overstated", "overstating nu by a factor of 10 costs little: regret at most "
                                  "doubles", {"moment_bound": 10 * _NU}),
                ("nu-understated", "understating nu by a factor of 10 costs little: regret at most "
                                   "doubles", {"moment_bound": 0.1 * _NU}),
                ("eps-understated", "understating eps (0.5) costs little: regret at most doubles", {"eps": 0.5}),
            )
            for claim in observations(id, at_point(changes, NOMINAL, factor=2.0) < 0.0, says=says, **_SWEPT)
        ),
        *observations("printed-radius", at_point({"beta_scale": 1.0}, NOMINAL, factor=10.0) > 0.0,
                      says="the printed radius costs much: regret is more than 10 times that at the nominal point",
                      **_SWEPT),
        *observations("ridge-step", at_point({"step_size": 1.0}, NOMINAL) < 0.0,
                      says="the step size of ridge regression (1) is at least as good as the printed one "
                      "(4)", **_SWEPT),
    ),
    notes=("Each map varies two of the five hyperparameters around the nominal point; the other three have their "
        "nominal values.",),
    figures=(Heatmap(NOMINAL),),
)
