"""Regret of CA-OONS against constants of its base learners and of its meta algorithm."""

from jaxbandits.oco import CAOONS
from jaxbandits.reproduction.engine import Heatmap
from jaxbandits.reproduction.experiments.oco.setting import STUDY, smooth_losses
from jaxbandits.reproduction.sentences import at_point, observations
from jaxbandits.simulation import Grid, product

_PAPER = {"c_eta": 64.0, "c_A": 4.0, "c_meta": 32.0}
_GRID = {"c_eta": (1.0, 4.0, 16.0, 64.0, 256.0), "c_A": (0.25, 1.0, 4.0), "c_meta": (0.5, 2.0, 8.0, 32.0, 128.0)}
_ROW = {"on": "norm-4", "labels": ("CA-OONS",)}

CONSTANTS_CA = STUDY.experiment(
    "constants-ca",
    "Algorithms 2 and 3",
    title="regret of CA-OONS against the constants of its base learners and of its meta algorithm",
    horizon=2**11,
    seeds=64,
    presets={"theory": "grid around the paper's c_eta = 64, c_A = 4, c_meta = 32"},
    algorithms=lambda preset, horizon, panel: {
        "CA-OONS": Grid(CAOONS.theory(dim=panel.environment.dim, horizon=horizon), product(_GRID))
    },
    panels=lambda horizon: {"norm-4": smooth_losses()},
    record_points=4,
    claims=(
        *observations("start-up", at_point({"c_meta": 8.0}, _PAPER, factor=0.5) < 0.0,
                      says="dividing the constant of the meta algorithm by 4 at least halves the regret", **_ROW),
        *observations("base-saves-less", at_point({"c_eta": 16.0}, _PAPER, factor=0.5) > 0.0,
                      says="dividing the constant of the base learners by 4 reduces the regret by less than "
                      "half", **_ROW),
    ),
    notes=("Each map varies two of the three constants; the third one has the value of the paper.",),
    figures=(Heatmap(_PAPER),),
)
