"""Differences of products without cancellation: a d - b c to almost the relative precision of the float type.

The rounded products a d and b c agree in their leading digits if the difference is small, so that their difference may
have no correct digit. Each product is therefore written as p + e, where p is the product rounded to one bit less than
the float type has, and e is the rest, which follows from the products of halves of the factors (T. J. Dekker, "A
floating-point technique for extending the available precision", Numerische Mathematik 18, 1971; W. Kahan's algorithm
for 2 x 2 determinants, in the form of C.-P. Jeannerod, N. Louvet, J.-M. Muller, Mathematics of Computation 82, 2013).
p - q has no rounding error where it cancels.

Halves and p are cut by masks of their bits. The compiler may contract a product and a sum to one operation with a
single rounding, on which Dekker's multiplications by 2^12 + 1 would depend; a mask of bits has one result only.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def difference_of_products(a: jax.Array, d: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
    """Return a d - b c, elementwise; all arguments have one float type, and shapes that broadcast.

    The absolute error is at most $2 u |a d - b c| + 4 u^2 (|a d| + |b c|)$, where u is the machine epsilon (2^-23 in
    float32), if no product overflows or is subnormal.
    """
    (p, rest_p), (q, rest_q) = _product(a, d), _product(b, c)
    return (p - q) + (rest_p - rest_q)


def power_below(x: jax.Array) -> jax.Array:
    """Return the largest power of two that is at most x, for normal x > 0; divisions by it are exact."""
    info = jnp.finfo(x.dtype)
    return _mask_bits(x, (1 << info.bits - 1) - (1 << info.nmant))


def _product(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return x y as a sum p + e."""
    n_bits = jnp.finfo(x.dtype).nmant // 2 + 1
    x_high, y_high = _cut(x, n_bits), _cut(y, n_bits)
    x_low, y_low = x - x_high, y - y_high
    p = _cut(x * y, 1)
    return p, (((x_high * y_high - p) + x_high * y_low) + x_low * y_high) + x_low * y_low  # Dekker's order


def _cut(x: jax.Array, n_bits: int) -> jax.Array:
    """Return x with its last `n_bits` bits set to 0."""
    return _mask_bits(x, -(1 << n_bits))


def _mask_bits(x: jax.Array, mask: int) -> jax.Array:
    whole = {4: np.int32, 8: np.int64}[x.dtype.itemsize]
    return lax.bitcast_convert_type(lax.bitcast_convert_type(x, whole) & whole(mask), x.dtype)
