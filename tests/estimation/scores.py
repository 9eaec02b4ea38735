"""How far the scores that are carried are from those computed anew, in units of the bound in `fixed_arms`."""

import functools

import jax
import jax.numpy as jnp

from jaxbandits.engine.loop import init_trial, play_round
from jaxbandits.estimation.fixed_arms import REFRESH
from jaxbandits.numerics import inverse_factors


@functools.partial(jax.jit, static_argnums=(2, 3))
def largest_drift(algorithm, environment, rounds, trials):
    """The largest over rounds, arms and trials, of `width_sq` and of `mean`."""

    def begin(seed):
        carry = init_trial(jax.random.key(3, impl="threefry2x32"), algorithm, environment, seed)
        worst = {"width_sq": jnp.zeros(()), "mean": jnp.zeros(())}
        return carry, jnp.trace(inverse_factors.to_dense(carry.alg_state.inverse)), jnp.zeros(()), worst

    def one_round(t, carry, at_refresh, path, worst):
        carry, played = play_round(algorithm, environment, t, carry)
        before, after, arms = played.state, carry.alg_state, played.obs.arms
        path = path + jnp.linalg.norm(after.theta - before.theta)
        eps, norm_sq = jnp.finfo(path.dtype).eps, (arms * arms) @ jnp.ones(arms.shape[1])
        unit = (REFRESH + 4 * arms.shape[1]) * eps
        width_sq = jnp.abs(after.scores.width_sq - inverse_factors.quadratic_forms(after.inverse, arms)) / (
            unit * norm_sq * at_refresh
        )
        mean = jnp.abs(after.scores.mean - arms @ after.theta) / (unit * jnp.sqrt(norm_sq) * path)
        now = {"width_sq": jnp.max(width_sq), "mean": jnp.max(mean)}
        worst = jax.tree.map(jnp.maximum, worst, now)
        due = (t + 1) % REFRESH == 0
        at_refresh = jnp.where(due, jnp.trace(inverse_factors.to_dense(after.inverse)), at_refresh)
        return carry, at_refresh, jnp.where(due, jnp.linalg.norm(after.theta), path), worst

    def all_trials(t, states):
        return jax.vmap(functools.partial(one_round, t), in_axes=-1, out_axes=-1)(*states)

    states = jax.vmap(begin, out_axes=-1)(jnp.arange(trials, dtype=jnp.int32))
    return jax.tree.map(jnp.max, jax.lax.fori_loop(0, rounds, all_trials, states)[-1])


@functools.partial(jax.jit, static_argnums=(2, 3))
def largest_error_of_widths(algorithm, environment, rounds, trials):
    """The largest over rounds, arms and trials, of the error of a width relative to the width."""

    def trial(seed):
        def one_round(carry, t):
            carry, played = play_round(algorithm, environment, t, carry)
            after = carry.alg_state
            exact = inverse_factors.quadratic_forms(after.inverse, played.obs.arms)
            return carry, jnp.max(jnp.abs(jnp.sqrt(jnp.maximum(after.scores.width_sq, 0.0) / exact) - 1.0))

        carry = init_trial(jax.random.key(3, impl="threefry2x32"), algorithm, environment, seed)
        return jax.lax.scan(one_round, carry, jnp.arange(rounds, dtype=jnp.int32))[1]

    return jnp.max(jax.vmap(trial)(jnp.arange(trials, dtype=jnp.int32)))
