"""OGD (`ogd`): online gradient descent on the centred ball, in NumPy float64, x_{t+1} = P_X[x_t - D/(G sqrt t) g_t]."""

from collections.abc import Callable

import numpy as np


def run(
    gradient: Callable[[int, np.ndarray], np.ndarray],
    horizon: int,
    dim: int,
    radius: float,
    lipschitz: float,
    step_scale: float = 1.0,
) -> np.ndarray:
    """The plays `[horizon, d]`; `gradient(t, x)` is the gradient of the loss of round t = 1, 2, ... at x."""
    x, plays = np.zeros(dim), []
    for t in range(1, horizon + 1):
        plays.append(x)
        y = x - step_scale * 2.0 * radius / (lipschitz * np.sqrt(t)) * gradient(t, x)
        length = np.linalg.norm(y)
        x = y if length <= radius else y * (radius / length)
    return np.array(plays)
