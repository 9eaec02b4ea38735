"""Pure exploration: learners that identify the best of K arms and then stop. `armed` has their environments."""

from jaxbandits.algorithms.explore import *
