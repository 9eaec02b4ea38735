"""Regret of OONS against its three constants."""

from jaxbandits.oco import OONS
from jaxbandits.reproduction.engine import Heatmap
from jaxbandits.reproduction.experiments.oco.setting import STUDY, linear_losses
from jaxbandits.simulation import Grid, product

_GRID = {
    "c_eta": (1.0, 4.0, 16.0, 64.0, 256.0),
    "c_A": (0.0625, 0.25, 1.0, 4.0, 16.0),
    "c_corr": (0.0, 0.5, 2.0, 8.0, 32.0),
}

CONSTANTS = STUDY.experiment(
    "constants",
    "Algorithm 1",
    title="regret of OONS against its three constants",
    horizon=2**13,
    presets={"theory": "grid around the paper's c_eta = 64, c_A = 4, c_corr = 32"},
    algorithms=lambda preset, horizon, panel: {"OONS": Grid(OONS.theory(dim=panel.environment.dim), product(_GRID))},
    panels=lambda horizon: {"iid": linear_losses()},
    record_points=8,
    notes=("Each map varies two of the three constants; the third one has the value of the paper.",),
    figures=(Heatmap({"c_eta": 64.0, "c_A": 4.0, "c_corr": 32.0}),),
)
