"""Bits of a learner at several widths, for tests in both precisions."""

import warnings

import numpy as np
import pytest

from jaxbandits import simulate
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.environments import ENVIRONMENTS

TRIALS = 75  # the last batch is not full at any width


def cases(quick):
    """Return the cases of a test: every learner at all widths, slow, and the quick ones at two."""
    slow = [pytest.param(name, (16, 32, 64), marks=pytest.mark.slow, id=name) for name in ALGORITHMS]
    return slow + [pytest.param(name, (16, 64), id=f"{name} quick") for name in quick]


def assert_same_bits(name, widths):
    """Assert that a short run of an example has the same bits in every metric at all widths."""
    entry = ALGORITHMS[name]
    environment = ENVIRONMENTS[entry.environments[0]].example
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*a noise scale of", UserWarning)  # examples play other families' rewards
        first, *others = (
            simulate(entry.example, environment, 120, TRIALS, width=width, record_points=10, progress=False).trials
            for width in widths
        )
    for width, other in zip(widths[1:], others, strict=True):
        for label, trials in first.items():
            for metric, values in trials.values.items():
                message = f"{metric} of {name} at width {width}"
                np.testing.assert_array_equal(values, other[label].values[metric], message)
