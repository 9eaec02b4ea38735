"""A report of any experiment with numbers that nobody simulated: for tests of what is drawn and written."""

import itertools

import numpy as np

from jaxbandits.engine.grid import Grid, list_points
from jaxbandits.reproduction.engine.experiment import Experiment
from jaxbandits.reproduction.engine.figures import Bound
from jaxbandits.reproduction.engine.run import Report
from jaxbandits.results.result import Result
from jaxbandits.simulation import RoundTimes
from tests.results import factories

HORIZON, SEEDS, RECORDS = 60, 6, (1, 3, 10, 20, 30, 40, 50, 60)


def report(experiment: Experiment, seed: int = 0) -> Report:
    """Every label of every panel with all metrics that the experiment draws or tabulates, positive and increasing."""
    rng = np.random.default_rng(seed)
    preset = experiment.preset(None)
    names = {experiment.metric, *experiment.tabulated, *(meter.name for meter in experiment.meters)}
    axes = {meter.name: meter.axes for meter in experiment.meters if meter.axes}
    for drawing in experiment.figures:
        names |= {getattr(drawing, "metric", None)} - {None}
        names |= {*getattr(drawing, "needs", ())}
        names |= {drawing.bound} if isinstance(drawing, Bound) else set()
        names |= {getattr(drawing, "x", "round")} - {"round"}
        names |= {*(getattr(drawing, "reference", None) or ())[:1]}
    records = range(1, HORIZON + 1) if experiment.record_points == 3000 else RECORDS  # a whole trace
    results, times = {}, {}
    for name, panel in experiment.panels(HORIZON).items():
        of_groups = {m: a for m, a in getattr(panel.environment, "axes", {}).items() if a == ("group",) and m in names}
        sizes = dict.fromkeys(of_groups, (getattr(panel.environment, "n_groups", 0),))
        sizes |= {metric: tuple(2 for _ in its) for metric, its in axes.items()}
        trials = {}
        for label, algorithm in experiment.algorithms(preset, HORIZON, panel).items():
            points = list_points(algorithm.points) if isinstance(algorithm, Grid) else [{}]
            shape = (len(points), SEEDS, len(records))
            values = {
                metric: np.cumsum(rng.gamma(2.0, 0.1, (*shape, *sizes.get(metric, ()))), axis=2)
                for metric in sorted(names)
            }
            if "arm" in values:  # one of ten, round after round
                values["arm"] = values["arm"][:, :, np.arange(len(records)) % 10]
            trials[label] = factories.trials(values, points, record_points=records, axes=of_groups | axes)
        results[name] = Result(trials, {"wall_s": 1.0})
    if experiment.timed is not None:
        stops = np.linspace(0, HORIZON, 11)[1:].astype(int)
        for name, wanted in itertools.product(experiment.timed.panels, experiment.timed.at):
            width = wanted or 64
            ns = {label: rng.uniform(50.0, 90.0, (4 if width == 1 else 1, len(stops))) for label in results[name]}
            times[name, width] = RoundTimes(width, stops, ns, dict.fromkeys(ns, 64))
    return Report(experiment, preset, HORIZON, results, times, ())
