"""Running algorithms against environments: thousands of independent trials, compiled, on every core or device."""

from jaxbandits.simulation.api import RoundTimes, compare, simulate, sweep, time_rounds
from jaxbandits.simulation.meters import Meter, Round
from jaxbandits.simulation.results import Result

__all__ = ["Meter", "Result", "Round", "RoundTimes", "compare", "simulate", "sweep", "time_rounds"]
