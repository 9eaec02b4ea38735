"""The generator and the maps from its bits to draws, in exact arithmetic of Python and NumPy."""

import itertools
from fractions import Fraction

import numpy as np

ROTATIONS = [13, 15, 26, 6, 17, 29, 16, 24]
MASK = 0xFFFFFFFF


def threefry(key, counter, rounds):
    """Threefry-2x32 of two words of key and two of counter, each an int or an array of uint64."""
    k = [np.asarray(word, np.uint64) for word in key]
    k.append(k[0] ^ k[1] ^ np.uint64(0x1BD11BDA))
    mask = np.uint64(MASK)
    a, b = (np.asarray(word, np.uint64) + k[i] & mask for i, word in enumerate(counter))
    for i in range(rounds):
        turn = np.uint64(ROTATIONS[i % 8])
        a = a + b & mask
        b = (b << turn | b >> np.uint64(32) - turn) & mask ^ a
        if i % 4 == 3:
            s = (i + 1) // 4
            a, b = a + k[s % 3] & mask, b + k[(s + 1) % 3] + np.uint64(s) & mask
    return a, b


def uniform(high, low):
    """The number on (0, 1) of the upper 31 bits of two words."""
    return Fraction((high >> 1 << 31) + (low >> 1), 2**62) + Fraction(1, 2**63)


def categorical(q, high, low):
    """Inversion: the first index whose sum exceeds the share u of the whole."""
    u = Fraction((high >> 2 << 31) + (low >> 1), 2**61) + Fraction(1, 2**62)
    ends = list(itertools.accumulate(Fraction(float(mass)) for mass in q))
    return next(i for i, end in enumerate(ends) if u * ends[-1] < end)
