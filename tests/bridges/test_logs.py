"""Logs of obp and of Vowpal Wabbit: there and back, and mistakes by their line."""

import numpy as np
import pytest

from jaxbandits import data
from jaxbandits.base.errors import InputError
from jaxbandits.bridges import log_from_obp, log_to_obp, read_vw, write_vw

N, K, P = 60, 4, 3


def make_log(shape=(N, P), columns=("age", "hour of day", "x:y")):
    rng = np.random.default_rng(0)
    context = None if shape is None else rng.normal(size=shape)
    log = data.Log.from_arrays(rng.integers(K, size=N), rng.normal(size=N), np.full(N, 0.25), context, actions=K)
    return data.Log(**{**vars(log), "columns": columns if shape is not None else ()})


def assert_equal(one, other):
    for field in ("action", "reward", "propensity", "context"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
    assert one.actions == other.actions


def test_obp_there_and_back():
    log = make_log()
    feedback = log_to_obp(log)
    assert feedback["n_rounds"] == N and feedback["action_context"].shape == (K, K)
    assert_equal(log_from_obp(feedback), log)
    bare = log_to_obp(make_log(shape=None))
    assert bare["context"].shape == (N, 1)
    assert log_from_obp({"action": [0, 1], "reward": [1.0, 0.0], "n_actions": 3}).propensity is None
    with pytest.raises(InputError, match="obp cannot store features of actions"):
        log_to_obp(make_log((N, K, P), columns=()))


def test_positions_of_obp_are_bandits_of_their_own():
    feedback = log_to_obp(make_log()) | {"position": np.arange(N) % 3}
    with pytest.raises(InputError, match="positions 0, 1, 2: choose one, such as position=0"):
        log_from_obp(feedback)
    first = log_from_obp(feedback, position=1)
    np.testing.assert_array_equal(first.reward, feedback["reward"][1::3])
    np.testing.assert_array_equal(first.context, feedback["context"][1::3])
    with pytest.raises(InputError, match="position must be one of 0, 1, 2, got 3"):
        log_from_obp(feedback, position=3)


@pytest.mark.parametrize(
    ("feedback", "message"),
    [
        ([1], "feedback must be a dictionary in the format of obp"),
        ({"action": [0], "n_actions": 2}, "feedback lacks 'reward'"),
        ({"action": [0, 1], "reward": [1.0], "n_actions": 2}, "one entry per event"),
        ({"action": [0, 1], "reward": [1.0, 0.0], "n_actions": 2.9}, "n_actions of feedback must be a whole number"),
        ({"action": [0, 1], "reward": [1.0, 0.0], "n_actions": 2, "position": [0]}, "one position per event"),
    ],
)
def test_wrong_feedback(feedback, message):
    with pytest.raises(InputError, match=message):
        log_from_obp(feedback)


@pytest.mark.parametrize("shape", [(N, P), (N, K, P), None])
def test_text_there_and_back(shape, tmp_path):
    log = make_log(shape)
    write_vw(log, tmp_path / "log.vw")
    found = read_vw(tmp_path / "log.vw")
    if shape is None:
        np.testing.assert_array_equal(found.context, np.ones((N, 1)))
        found = data.Log(**{**vars(found), "context": None, "columns": ()})
    else:
        assert found.columns == ("age", "hour_of_day", "x_y")
    assert_equal(found, log)
    assert read_vw(tmp_path / "log.vw", n_actions=K).n_actions == K


def read(text, tmp_path, **settings):
    path = tmp_path / "log.vw"
    path.write_text(text)
    return read_vw(path, **settings)


def test_text_of_others(tmp_path):
    text = "2:-1.5:0.5 |user age:30 new |hour noon\n1:0:0.25 3 | bias\n"
    log = read(text, tmp_path, n_actions=3)
    assert log.action.tolist() == [1, 0] and log.reward.tolist() == [1.5, 0.0] and log.n_actions == 3
    assert log.columns == ("user^age", "user^new", "hour^noon", "bias")
    np.testing.assert_array_equal(log.context, [[30, 1, 1, 0], [0, 0, 0, 1]])
    adf = "shared |s age:2\n|a x:1\n0:-1:0.5 |a x:3\n\nshared |s age:4\n0:1:0.5 |a x:5\n|a y:6\n"
    log = read(adf, tmp_path)
    assert log.action.tolist() == [1, 0] and log.reward.tolist() == [1.0, -1.0]
    assert log.columns == ("s^age", "a^x", "a^y")
    np.testing.assert_array_equal(log.context, [[[2, 1, 0], [2, 3, 0]], [[4, 5, 0], [4, 0, 6]]])


def test_names_with_blanks_of_unicode_stay_names(tmp_path):
    log = make_log(columns=("user\u00a0age", "a\u2028b", "c\x0bd"))
    write_vw(log, tmp_path / "log.vw")
    found = read_vw(tmp_path / "log.vw")
    assert found.columns == log.columns
    assert_equal(found, log)


def test_values_of_a_repeated_feature_are_added(tmp_path):
    log = read("1:0:0.5 | the the cat:2\n2:1:0.5 | cat:0.5 the:-1 cat\n", tmp_path)
    assert log.columns == ("the", "cat")
    np.testing.assert_array_equal(log.context, [[2, 2], [-1, 1.5]])
    log = read("shared | a:1\n0:1:0.5 | a:2\n| b:3\n", tmp_path)
    np.testing.assert_array_equal(log.context, [[[3, 0], [1, 3]]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no events"),
        ("1:nan:0.5 | a:1\n", r"reward must lie in \(-inf, inf\), got nan"),
        ("1:1:0.5 | a:1\n1:1:0.5\n", "line 2 has no features"),
        ("1:1:0.5 | a:1\n\n1:1 | a:1\n", "line 3: '1:1' is not action:cost:probability"),
        ("1:1:0.5 2:1:0.5 | a:1\n", "line 1: an event needs one action:cost:probability, got 2"),
        ("2 | a:1\n", "line 1: an event needs one action:cost:probability, got 0"),
        ("-1:1:0.5 | a:1\n", "line 1: actions are numbered from 1, got -1"),
        ("1:1:0.5 |n:2 a:1\n", "line 1: namespaces with weights cannot be read, got 'n:2'"),
        ("1:1:0.5 | a:b\n", "line 1: feature 'a:b' is not name:number"),
        ("1:1:0.5 | " + " ".join(f"w{i}" for i in range(10_001)), "line 1: more than 10,000 features"),
        ("0:1:1 | a:1\n| a:2\n\n0:1:1 | a:1\n", "events have 1 to 2 actions"),
        ("1:1:1.5 | a:1\n", r"propensity must lie in \(0, 1\]"),
    ],
)
def test_wrong_text(text, message, tmp_path):
    with pytest.raises(InputError, match=message):
        read(text, tmp_path)


def test_what_cannot_be_written_or_read(tmp_path):
    log = make_log()
    with pytest.raises(InputError, match="has no propensities"):
        write_vw(data.Log(**{**vars(log), "propensity": None}), tmp_path / "log.vw")
    write_vw(log, tmp_path / "log.vw")
    with pytest.raises(InputError, match="n_actions must be"):
        read_vw(tmp_path / "log.vw", n_actions=K - 1)
    with pytest.raises(InputError, match="does not exist"):
        read_vw(tmp_path / "none.vw")
    with pytest.raises(InputError, match=r"cannot read .*: Is a directory"):
        read_vw(tmp_path)
    (tmp_path / "latin.vw").write_bytes(b"1:1:0.5 | a:1\n1:1:0.5 | caf\xe9:1\n")
    with pytest.raises(InputError, match=r"latin\.vw, line 2: not encoded in UTF-8"):
        read_vw(tmp_path / "latin.vw")
    with pytest.raises(InputError, match="columns 'a b' and 'a_b' have the same name in the file, a_b"):
        write_vw(make_log(columns=("a b", "c", "a_b")), tmp_path / "log.vw")


@pytest.mark.parametrize(("shape", "options"), [((N, P), f"--cb {K}"), ((N, K, P), "--cb_adf")])
def test_vowpal_wabbit_reads_the_text(shape, options, tmp_path):
    vw = pytest.importorskip("vowpalwabbit")
    log = make_log(shape)
    write_vw(log, tmp_path / "log.vw")
    workspace = vw.Workspace(f"{options} --quiet -d {tmp_path / 'log.vw'}")
    assert workspace.get_sum_loss() != 0.0
    text = (tmp_path / "log.vw").read_text()
    if len(shape) == 2:
        for line, action, reward in zip(text.splitlines(), log.action, log.reward, strict=True):
            label = workspace.parse(line).get_label(vw.LabelType.CONTEXTUAL_BANDIT)
            assert [(cost.action, cost.probability) for cost in label.costs] == [(action + 1, 0.25)]
            assert label.costs[0].cost == pytest.approx(-reward, rel=1e-6)
    workspace.finish()
