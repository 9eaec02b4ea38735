"""Running algorithms against environments: thousands of independent trials, compiled, on every core or device."""

from jaxbandits.results.result import Result
from jaxbandits.simulation.api import RoundTimes, compare, simulate, sweep, time_rounds
from jaxbandits.simulation.meters import Meter, Round

__all__ = ["Meter", "Result", "Round", "RoundTimes", "compare", "simulate", "sweep", "time_rounds"]
