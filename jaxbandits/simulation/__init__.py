"""Simulation of algorithms on environments: thousands of independent trials, compiled, on all cores or devices."""

from jaxbandits.analysis.trials import Trials
from jaxbandits.engine.grid import Grid, product, zip_fields
from jaxbandits.engine.meters import Meter, Round
from jaxbandits.engine.options import Options
from jaxbandits.results.result import Result
from jaxbandits.simulation.api import compare, simulate, sweep
from jaxbandits.simulation.by_hand import SteppedTrial, step_through
from jaxbandits.simulation.playing import HostLearner, each, play
from jaxbandits.simulation.racing import Race, race
from jaxbandits.simulation.stopping import StoppingRule
from jaxbandits.simulation.timing import RoundTimes, time_rounds

__all__ = [
    "Grid",
    "HostLearner",
    "Meter",
    "Options",
    "Race",
    "Result",
    "Round",
    "RoundTimes",
    "SteppedTrial",
    "StoppingRule",
    "Trials",
    "compare",
    "each",
    "play",
    "product",
    "race",
    "simulate",
    "step_through",
    "sweep",
    "time_rounds",
    "zip_fields",
]
