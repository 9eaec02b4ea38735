"""Random variates with accurate tails in float32, which are cheap inside a loop over rounds.

`jax.random.uniform` in float32 has a grid of 2^-23: a Pareto variate with tail index 1.5 that is computed from such a
variate never exceeds 4e4. Here one block of the generator, the output for one counter, gives 64 random bits
(`rng.generator`). The uniform variate from which a tail is computed uses 40 of these bits, so that it resolves
probabilities down to 2^-41 with full relative precision in any float type.

The functions use a key together with counters: a key that is passed to them must not also be split or folded elsewhere.
"""

from jaxbandits.numerics.rng.continuous import fisk as fisk
from jaxbandits.numerics.rng.continuous import lomax as lomax
from jaxbandits.numerics.rng.continuous import normal as normal
from jaxbandits.numerics.rng.continuous import normal_vector as normal_vector
from jaxbandits.numerics.rng.continuous import normals as normals
from jaxbandits.numerics.rng.continuous import pareto as pareto
from jaxbandits.numerics.rng.continuous import student_t as student_t
from jaxbandits.numerics.rng.directions import uniform_ball as uniform_ball
from jaxbandits.numerics.rng.directions import unit_vector as unit_vector
from jaxbandits.numerics.rng.directions import unit_vectors as unit_vectors
from jaxbandits.numerics.rng.discrete import categorical as categorical
from jaxbandits.numerics.rng.discrete import poisson as poisson
from jaxbandits.numerics.rng.discrete import randint as randint
from jaxbandits.numerics.rng.discrete import randints as randints
from jaxbandits.numerics.rng.discrete import subset as subset
from jaxbandits.numerics.rng.gammas import betas as betas
from jaxbandits.numerics.rng.gammas import gammas as gammas
from jaxbandits.numerics.rng.generator import fold_in as fold_in
from jaxbandits.numerics.rng.generator import random_words as random_words
from jaxbandits.numerics.rng.generator import split as split
from jaxbandits.numerics.rng.generator import word_array as word_array
from jaxbandits.numerics.rng.unit_interval import bernoulli as bernoulli
from jaxbandits.numerics.rng.unit_interval import tail_and_angle as tail_and_angle
from jaxbandits.numerics.rng.unit_interval import uniform as uniform
from jaxbandits.numerics.rng.unit_interval import uniform_between as uniform_between
from jaxbandits.numerics.rng.unit_interval import uniform_of_words as uniform_of_words
from jaxbandits.numerics.rng.unit_interval import uniforms as uniforms
