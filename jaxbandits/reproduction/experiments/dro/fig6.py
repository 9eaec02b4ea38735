"""Figure 6 of Zhang et al.: mean of the k largest risks against iterations and samples, with one outlier group."""

from collections.abc import Mapping

from jaxbandits.base.pytree import Fields
from jaxbandits.dro import ATkROk, ATkROm
from jaxbandits.reproduction.engine import Learners, Panel, PanelCurves
from jaxbandits.reproduction.experiments.dro.setting import GUESSED, SEEDS, STUDY, groups, heterogeneous, scales, tuning
from jaxbandits.reproduction.sentences import claims, mean

_K = 3
_AHEAD = mean("ATkRO(m)", of="top_k_risk") < mean("ATkRO(k)")
GRID, Q_GRID = (0.3, 1.0, 3.0, 10.0), (1.0, 10.0, 30.0)


def _panels(horizon: int) -> Mapping[str, Panel]:
    del horizon
    return {
        "iterations": Panel("the same number of iterations", heterogeneous()),
        "samples": Panel("the same number of samples", heterogeneous(), x=1.0),
    }


def _rounds(horizon: int, panel: Panel) -> dict[str, int]:
    """Return numbers of rounds by label: T for both, or numbers with which both draw equally many samples."""
    more = horizon * panel.environment.n_groups // _K if panel.x == 1.0 else horizon
    return {"ATkRO(m)": horizon, "ATkRO(k)": more}


def learners(preset: str, panel: Panel, horizons: Mapping[str, int]) -> Learners:
    """Make ATkRO(m) and ATkRO(k) for k = 3, each with step sizes for the number of rounds that it plays.

    Args:
      preset: name of the preset.
      panel: panel in which they play.
      horizons: number of rounds by label.
    """
    common = groups(panel) | {"k": _K}
    return {
        "ATkRO(m)": ATkROm(horizon=horizons["ATkRO(m)"], **common, **scales(preset, 3.0, 30.0)),
        "ATkRO(k)": ATkROk(horizon=horizons["ATkRO(k)"], **common, **scales(preset, 3.0, 1.0)),
    }


def _at(letter: str) -> Fields:
    return {"place": f"Figure 6({letter})", "least": SEEDS}


FIG6 = STUDY.experiment(
    "fig6",
    "Figure 6",
    title="mean of the 3 largest risks, heterogeneous groups",
    shows="Figure 6 shows the mean of the k largest risks against the number of iterations (a) and against the number "
    "of samples (b), for ATkRO(m) and ATkRO(k) on a second synthetic data set. The paper states k = 3 and 20 "
    "distributions, whose labels are right with probability 0.6 in the outlier and 0.85 to 0.95 in the others.",
    horizon=10_000,
    guessed=GUESSED,
    algorithms=lambda preset, horizon, panel: learners(preset, panel, _rounds(horizon, panel)),
    panels=_panels,
    horizons=lambda horizon, panel, labels: {label: _rounds(horizon, panel)[label] for label in labels},
    metric="top_k_risk",
    tabulated=("excess_top_k_risk", "samples"),
    width=1,  # a vector of 1000 entries already uses the whole machine
    claims=(
        *claims("faster", _AHEAD, on="iterations", says="per iteration ATkRO(m) is faster than ATkRO(k)", **_at("a")),
        *claims(
            "fewer-samples",
            _AHEAD,
            on="samples",
            says="ATkRO(m) needs slightly fewer samples than ATkRO(k)",
            **_at("b"),
        ),
    ),
    tuning=tuning("top_k_risk", w=GRID, q=lambda learner: Q_GRID),
    notes=(
        "T is the number of rounds of ATkRO(m). ATkRO(k) plays T rounds too in the panel iterations, but T m / k "
        "rounds in the panel samples, so that both use the same number of samples there.",
        "'Needs fewer samples' is read as a smaller mean of the k largest risks after the same number of samples; how "
        "much smaller it is ('slightly') is not tested.",
        "The excess is the difference from the exact optimum of each instance; a duality gap certifies this optimum.",
    ),
    figures=(
        PanelCurves(panels=("iterations",), logarithmic=True, name="iterations"),
        PanelCurves(panels=("samples",), x="samples", logarithmic=True, name="samples"),
    ),
)
