"""Settings of JAX that find mistakes in other code: runs, checks and `vmap_last` work under each, on equal numbers.

The settings are contexts of this process, which the threads of a run do not see by themselves.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import OFUL, HeavyTailed, armed, check_algorithm, compare, time_rounds, vmap_last
from jaxbandits.sweeps.run import run_sweep
from jaxbandits.sweeps.sweep import Sweep

LEARNERS = {"ucb": armed.UCB1(n_arms=2), "thompson": armed.ThompsonBeta(n_arms=2)}
ARMS = armed.BernoulliArms.from_means([0.9, 0.1])
SETTINGS = {
    "disable_jit": True,
    "numpy_rank_promotion": "raise",
    "numpy_dtype_promotion": "strict",
    "check_tracer_leaks": True,
}


def _run():
    return compare(LEARNERS, ARMS, 20, 3, progress=False)


@pytest.mark.quick_cases("disable_jit", "numpy_rank_promotion")
@pytest.mark.parametrize("name", SETTINGS)
def test_runs_do_not_depend_on_settings_that_find_mistakes(name, tmp_path):
    usual = _run()
    with getattr(jax, name)(SETTINGS[name]):
        found = _run()
        run_sweep(Sweep(algorithms=LEARNERS, environment=ARMS, horizon=5, seeds=2), tmp_path, progress=False)
        check_algorithm(OFUL(dim=2), HeavyTailed(dim=2, n_arms=3), quick=True)
        assert jax.config.values[f"jax_{name}"] == SETTINGS[name]  # holds again
    for label in LEARNERS:
        np.testing.assert_array_equal(found.get("regret", label), usual.get("regret", label))


@pytest.mark.slow
def test_a_setting_of_the_process_holds_in_threads_until_they_end():
    """Contexts of threads that have ended, collected elsewhere, would switch the setting back on there."""
    jax.config.update("jax_disable_jit", True)
    try:
        for _ in range(3):
            _run()
            time_rounds([LEARNERS["ucb"]], ARMS, 4, repeats=1, patience=0.1, stretches=1, progress=False)
        assert jax.config.values["jax_disable_jit"]
    finally:
        jax.config.update("jax_disable_jit", False)


def test_vmap_last_checks_the_function_of_the_user_alone():
    x, s = jnp.ones((3, 4)), jnp.ones(4)
    with jax.numpy_rank_promotion("raise"):
        assert vmap_last(lambda s, x: s * x)(s, x).shape == (3, 4)
        with pytest.raises(ValueError, match="rank_promotion"):
            vmap_last(lambda x: jnp.ones((2, 3)) + x)(x)
