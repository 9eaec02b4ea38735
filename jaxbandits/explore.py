"""Pure exploration: learners that identify the best of K arms and then stop; their environments are in `armed`."""

from jaxbandits.algorithms.explore import *
