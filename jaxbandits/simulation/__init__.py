"""Running algorithms against environments: thousands of independent trials, compiled, on every core or device."""

from jaxbandits.simulation.api import compare, simulate, sweep
from jaxbandits.simulation.meters import Meter, Round
from jaxbandits.simulation.results import Result

__all__ = ["Meter", "Result", "Round", "compare", "simulate", "sweep"]
