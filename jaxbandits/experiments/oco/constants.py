"""OONS: regret against its three constants."""

from jaxbandits.algorithms.oco.oons import OONS
from jaxbandits.environments.oco.linear_losses import LinearLosses
from jaxbandits.experiments.engine.experiment import Experiment, Panel
from jaxbandits.experiments.engine.figures import Heatmap
from jaxbandits.experiments.oco.setting import OURS, PAPER
from jaxbandits.simulation.grid import Grid, product

_GRID = {
    "c_eta": (1.0, 4.0, 16.0, 64.0, 256.0),
    "c_A": (0.0625, 0.25, 1.0, 4.0, 16.0),
    "c_corr": (0.0, 0.5, 2.0, 8.0, 32.0),
}

CONSTANTS = Experiment(
    name="oco/constants",
    title="OONS: regret against its three constants",
    source=f"ours, on {PAPER}, Algorithm 1",
    horizon=2**13,
    seeds=256,
    presets={"theory": "around the paper's c_eta = 64, c_A = 4, c_corr = 32"},
    algorithms=lambda preset, horizon, panel: {"OONS": Grid(OONS.theory(dim=panel.environment.dim), product(_GRID))},
    panels=lambda horizon: {
        "iid": Panel("i.i.d. linear losses, m = 0.1, s = 0.9", LinearLosses(dim=2, mean=0.1, noise_scale=0.9))
    },
    metric="regret",
    record_points=8,
    notes=(OURS, "Every map passes through the paper's constants; the third one stays there."),
    figures=(Heatmap({"c_eta": 64.0, "c_A": 4.0, "c_corr": 32.0}),),
)
