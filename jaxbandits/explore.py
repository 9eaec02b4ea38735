"""Pure exploration: learners that identify the best of K arms and stop; environments are those of `armed`."""

from jaxbandits.algorithms.explore import *
