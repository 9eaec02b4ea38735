"""`step_through`: the stepped trial is the compiled one, and code in it runs with values."""

import jax
import numpy as np
import pytest

from jaxbandits import armed, coco, glm, linear, operators, pytree, simulate, step_through
from jaxbandits.base.errors import InputError
from jaxbandits.simulation import Grid, Meter

COINS = armed.BernoulliArms.from_means([0.9, 0.6, 0.3])
PAIRS = {
    "late": (armed.UCB1(n_arms=3), operators.with_delay(COINS, 4)),
    "arms": (armed.ThompsonBeta(n_arms=3), COINS),
    "linear": (linear.OFUL(dim=2), linear.HeavyTailed(dim=2, n_arms=5)),
    "points": (coco.OFWTVC(dim=3, horizon=100), coco.LinearConstraints(dim=3)),
}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", PAIRS)
def test_a_stepped_trial_is_that_of_the_compiled_run(name):
    algorithm, environment = PAIRS[name]
    outcome = Meter("charge", lambda r: r.outcome[0], "last")
    result = simulate(algorithm, environment, 9, 6, record_points=9, meters=[outcome], seed=5, progress=False)
    trial = step_through(algorithm, environment, trial=4, seed=5)
    assert trial.obs is None and trial.decision is None and trial.t == 0
    for t in range(9):
        assert trial.step() is trial
        np.testing.assert_allclose(trial.outcome[0], result["charge"][0, 4, t], rtol=1e-9, atol=1e-12)
    assert trial.t == 9


@pytest.mark.slow
def test_rounds_that_are_skipped_are_played_by_the_compiled_program():
    algorithm, environment = PAIRS["linear"]
    skipped = step_through(algorithm, environment, trial=2, skip=20).step()
    stepped = step_through(algorithm, environment, trial=2).step(21)
    assert skipped.t == stepped.t == 21
    assert skipped.decision.index == stepped.decision.index
    np.testing.assert_allclose(skipped.state.theta, stepped.state.theta, rtol=1e-9)
    np.testing.assert_allclose(skipped.env_state.theta, stepped.env_state.theta, rtol=1e-12)


def test_code_of_a_learner_runs_with_values(capsys):
    @pytree
    class Curious(armed.UCB1):
        def select(self, key, t, state, obs):
            if state.count[0] > 0:  # refused where the learner is traced
                print("arm 0 was played", float(state.count[0]))
            return super().select(key, t, state, obs)

    step_through(Curious(n_arms=3), COINS).step(2)
    assert capsys.readouterr().out == "arm 0 was played 1.0\n"


def test_bodies_of_loops_run_in_python_without_jit():
    values = []

    @pytree
    class Loops(armed.UCB1):
        def update(self, key, t, state, obs, decision, feedback):
            jax.lax.fori_loop(0, 2, lambda i, x: values.append(i) or x, 0.0)
            return super().update(key, t, state, obs, decision, feedback)

    trial = step_through(Loops(n_arms=3), COINS)
    values.clear()  # of the traces that check the pair
    with jax.disable_jit():
        trial.step()
    assert [int(value) for value in values] == [0, 1]


def test_the_last_round_is_printed_plainly():
    text = str(step_through(armed.UCB1(n_arms=3), COINS, trial=7).step(2)).splitlines()
    assert text[0] == "UCB1 on BernoulliArms, trial 7: 2 rounds played"
    assert [line.split()[0] for line in text[1:]] == ["obs", "decision", "feedback", "outcome", "state"]
    assert "Array" not in "".join(text)
    assert str(step_through(armed.UCB1(n_arms=3), COINS)).splitlines()[0].endswith("trial 0: 0 rounds played")


def test_steps_end_with_the_data():
    table = np.zeros((2, 3, 2))
    environment = glm.GeneralizedLinear(dim=2, n_arms=3, fresh_arms=True, table=table)
    trial = step_through(armed.UCB1(n_arms=3), environment).step(2)
    with pytest.raises(InputError, match="the environment has 2 rounds, and all of them have been played"):
        trial.step()


def test_what_cannot_be_stepped_is_refused():
    with pytest.raises(InputError, match="takes a single algorithm, not a Grid"):
        step_through(Grid(PAIRS["linear"][0], {"ridge": [1.0, 2.0]}), PAIRS["linear"][1])
    with pytest.raises(InputError, match="takes a single algorithm, not a Grid"):  # it would have n_arms=2
        step_through(Grid(armed.UCB1(n_arms=2), {"n_arms": [3]}), COINS)
    with pytest.raises(InputError, match=r"^trial must be a whole number in \[0, 2147483647\], got -1"):
        step_through(armed.UCB1(n_arms=3), COINS, trial=-1)
    with pytest.raises(InputError, match="skip must be"):
        step_through(armed.UCB1(n_arms=3), COINS, skip=-1)
    with pytest.raises(InputError, match="is an environment"):
        step_through(COINS, COINS)


def test_code_that_prints_runs_in_no_padded_slot(capfd):
    @pytree
    class Prints(armed.UCB1):
        def select(self, key, t, state, obs):
            jax.debug.print("round {t}", t=t)
            return super().select(key, t, state, obs)

    result = simulate(Prints(n_arms=3), COINS, 3, 2, workers=1, progress=False)
    jax.effects_barrier()
    assert sorted(capfd.readouterr().out.split("\n")) == ["", *[f"round {t}" for t in range(3) for _ in range(2)]]
    silent = simulate(armed.UCB1(n_arms=3), COINS, 3, 2, progress=False)
    np.testing.assert_allclose(result.get("regret"), silent.get("regret"), rtol=1e-12)
    assert result["Prints"].spec["width"] == 1 and silent["UCB1"].spec["width"] == 64
