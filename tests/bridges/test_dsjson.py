"""Logs in the dsjson of Vowpal Wabbit: there and back, mistakes by their line, and Vowpal Wabbit itself."""

import json
import re

import numpy as np
import pytest

from jaxbandits import data
from jaxbandits.base.errors import InputError
from jaxbandits.bridges import read_dsjson, write_dsjson
from tests.bridges.test_logs import K, N, P, assert_equal, make_log

COLUMNS = ("age", "hour of day", "user^x:y")


@pytest.mark.parametrize("shape", [(N, P), (N, K, P), None])
def test_there_and_back(shape, tmp_path):
    log = make_log(shape, COLUMNS)
    write_dsjson(log, tmp_path / "log.json")
    found = read_dsjson(tmp_path / "log.json")
    assert_equal(found, log)
    assert found.columns == log.columns
    for line, action, reward in zip(
        (tmp_path / "log.json").read_text().splitlines(), log.action.tolist(), log.reward, strict=True
    ):
        event = json.loads(line)
        assert event["_label_Action"] == event["a"][0] == action + 1 and event["_labelIndex"] == action
        assert event["_label_cost"] == -reward and event["_label_probability"] == event["p"][0] == 0.25
        assert sorted(event["a"]) == [1, 2, 3, 4] and sum(event["p"]) == pytest.approx(1.0)
        assert len(event["c"]["_multi"]) == K


@pytest.mark.parametrize("columns", [("user", "user^age", "user^age^old"), ("^age", "user^", "age"), ("", "age", "^x")])
def test_names_that_are_namespaces_too(columns, tmp_path):
    log = make_log((N, P), columns)
    write_dsjson(log, tmp_path / "log.json")
    found = read_dsjson(tmp_path / "log.json")
    assert_equal(found, log)
    assert found.columns == log.columns


def event(**changes):
    """An event of a decision service, with the entries that others write besides."""
    first = {"_label_cost": -1, "_label_probability": 0.8166667, "_label_Action": 2, "_labelIndex": 1}
    rest = {"Version": "1", "EventId": "a1", "Timestamp": "2024-05-01T10:00:00Z", "VWState": {"m": "x/0"}}
    features = {
        "User": {"age": 30, "new": True, "old": False, "_tag": "somebody"},
        "recent": [0.5, 0.25],
        "_multi": [{"_tag": "x", "Ad": {"price": 1.5}}, {"Ad": {"price": 2, "size": 3}}, {"Ad": {"price": None}}],
    }
    return json.dumps({**first, "a": [2, 1, 3], "p": [0.8166667, 0.0333333, 0.15], **rest, "c": features} | changes)


def read(lines, tmp_path):
    path = tmp_path / "log.json"
    path.write_text("\n".join(lines) + "\n")
    return read_dsjson(path)


def test_events_of_others(tmp_path):
    skipped = event(_skipLearn=True, _label_cost=5)
    second = event(_label_cost=0, _label_probability=0.15, _label_Action=3, _labelIndex=2, a=[3, 1, 2],
                   p=[0.15, 0.05, 0.8])  # fmt: skip
    log = read([event(), skipped, "", second], tmp_path)
    assert log.action.tolist() == [1, 2] and log.reward.tolist() == [1.0, 0.0] and log.n_actions == 3
    np.testing.assert_array_equal(log.propensity, [0.8166667, 0.15])
    assert log.columns == ("User^age", "User^new", "recent^0", "recent^1", "Ad^price", "Ad^size")
    shared = [30, 1, 0.5, 0.25]
    expected = [[*shared, 1.5, 0], [*shared, 2, 3], [*shared, 0, 0]]
    np.testing.assert_array_equal(log.context, [expected, expected])


def test_actions_that_are_only_named_have_no_features(tmp_path):
    named = {"age": 3, "_multi": [{"id": {"x": 1}}, {"id": {"y": 1}}, {"id": {"z": 1}}]}
    log = read([event(c=named), event(c={**named, "age": 4})], tmp_path)
    np.testing.assert_array_equal(log.context, [[3], [4]])
    assert log.columns == ("age",) and log.n_actions == 3
    other = {**named, "_multi": [{"id": {"x": 1}}, {"id": {"y": 1}}, {"id": {"z": 2}}]}  # a number says more
    log = read([event(c=other)], tmp_path)
    assert log.context.shape == (1, 3, 4) and log.columns == ("age", "id^x", "id^y", "id^z")


def test_values_of_a_feature_that_is_shared_and_of_an_action_are_added(tmp_path):
    named = {"id": {"x": 5}, "_multi": [{"id": {"x": 1}}, {"id": {"y": 1}}, {"id": {"z": 1}}]}
    log = read([event(c=named)], tmp_path)
    assert log.columns == ("id^x", "id^y", "id^z")
    np.testing.assert_array_equal(log.context, [[[6, 0, 0], [5, 1, 0], [5, 0, 1]]])


def test_line_separators_inside_texts_end_no_line(tmp_path):
    (tmp_path / "log.json").write_text(event(EventId="a\u2028b").replace("\\u2028", "\u2028") + "\r\n", "utf-8")
    assert len(read_dsjson(tmp_path / "log.json")) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2 is not JSON"),
        (event(_label_cost=float("nan")), "line 2 is not JSON: NaN is not a valid JSON number"),
        ("[1]", "line 2 has no features: it must be an object with an object c"),
        (json.dumps({"RewardValue": 1.0, "EventId": "a1"}), "line 2 has no features"),
        (event(c={"x": 1}), "line 2 has no actions: c must have a list _multi"),
        (event(c={"_multi": [1, 2, 3]}), "line 2: the features of an action must be an object, got 1"),
        (event(c={"user": {"name": "Ann"}, "_multi": [{}] * 3}), r"line 2: feature 'user\^name' is text, 'Ann', but"),
        (event(c={"_text": "a b", "_multi": [{}] * 3}), "line 2: _text is text, but features must be numbers"),
        (event(c={"_multi": [{}] * 3, "_slots": []}), "line 2 is a slate with several slots"),
        (event(_label_Action=4), r"line 2: _label_Action must be a whole number in \[1, 3\], got 4"),
        (event(_label_Action="2"), "line 2: _label_Action must be a number, got '2'"),
        (event(_labelIndex=2), "line 2: _label_Action 2 must have _labelIndex 1, got 2"),
        (event(_label_cost=None), "line 2: _label_cost must be a number, got None"),
        (event(_label_probability=True), "line 2: _label_probability must be a number, got True"),
        (event(p=[0.8166667, 0.0333333, 0.1]), "line 2: the probabilities p must sum to 1, but sum to 0.95"),
        (event(p=[0.8, 0.2]), "line 2: a and p must be lists of numbers with the same length"),
        (event(a=[1, 2, 3]), "line 2: a and p must contain action 2 with its _label_probability, 0.816667"),
        (event(pdrop=0.5), "line 2: events were dropped with probability pdrop"),
        (event(c={**{f"x{i}": 1 for i in range(10_001)}, "_multi": [{}] * 3}), "line 2: more than 10,000 features"),
        (event(c={"x": 1, "_multi": [{}] * 2}, a=[2, 1], p=[0.8166667, 0.1833333]), "events have 2 to 3 actions"),
        (event(c={"a^b": 1, "a": {"b": 2}, "_multi": [{}] * 3}), r"line 2: two features have the name 'a\^b'"),
        (event(c={"x": 1, "y": 2, "_multi": [{}] * 3}).replace('"y"', '"x"'), "line 2: two entries have the name 'x'"),
        (event(_label_cost=-77).replace("77", "1e999"), r"reward must lie in \(-inf, inf\), got inf"),
        (event(_label_probability=1.5, a=None), r"propensity must lie in \(0, 1\]"),
    ],
)
def test_wrong_lines(line, message, tmp_path):
    with pytest.raises(InputError, match=message):
        read([event(), line], tmp_path)


def test_files_without_events(tmp_path):
    with pytest.raises(InputError, match="has no events"):
        read([event(_skipLearn=True)], tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        read_dsjson(tmp_path / "none.json")


def test_logs_that_cannot_be_written(tmp_path):
    log = make_log()
    with pytest.raises(InputError, match="no propensities, which the format dsjson needs"):
        write_dsjson(data.Log(**{**vars(log), "propensity": None}), tmp_path / "log.json")
    for name in ("_x", "_x^y", "x^_y"):  # readers skip objects and entries of such names
        with pytest.raises(InputError, match=f"column '{re.escape(name)}': in dsjson, .* cannot begin with _"):
            write_dsjson(make_log((N, P), ("a", name, "b")), tmp_path / "log.json")
    with pytest.raises(InputError, match=r"column 'action\^0': names that begin with action\^ identify the actions"):
        write_dsjson(make_log((N, P), ("a", "action^0", "b")), tmp_path / "log.json")
    single = data.Log.from_arrays([0, 0], [1.0, 0.0], [1.0, 0.5])
    with pytest.raises(InputError, match=r"one action needs propensities of 1, got 0\.5"):
        write_dsjson(single, tmp_path / "log.json")
    rounded = data.Log.from_arrays([0, 0], [1.0, 0.0], [1.0, 0.9999999])
    write_dsjson(rounded, tmp_path / "log.json")
    np.testing.assert_allclose(read_dsjson(tmp_path / "log.json").propensity, [1.0, 0.9999999])


@pytest.mark.parametrize("shape", [(N, P), (N, K, P)])
def test_vowpal_wabbit_reads_the_file(shape, tmp_path):
    """It finds the label of each event, and the number of features, with a constant in every example."""
    vw = pytest.importorskip("vowpalwabbit")
    log = make_log(shape, COLUMNS)
    write_dsjson(log, tmp_path / "log.json")
    workspace = vw.Workspace("--dsjson --cb_adf --cb_type ips --quiet")
    for line, action, reward in zip(
        (tmp_path / "log.json").read_text().splitlines(), log.action.tolist(), log.reward, strict=True
    ):
        examples = workspace.parse(line)
        labels = [example.get_label(vw.LabelType.CONTEXTUAL_BANDIT) for example in examples]
        costs = [(k, cost.cost, cost.probability) for k, label in enumerate(labels) for cost in label.costs]
        n_features = [example.get_feature_number() for example in examples]
        assert n_features == [P + 1, *[2] * K] if len(shape) == 2 else [1, *[P + 1] * K]  # shared, and of each action
        ((k, cost, probability),) = [entry for entry in costs if entry[2] > 0.0]  # the shared one has a mark, -1
        assert k - 1 == action and probability == pytest.approx(0.25)
        assert cost == pytest.approx(-reward, rel=1e-6)
        workspace.learn(examples)
        workspace.finish_example(examples)
    assert workspace.get_sum_loss() != 0.0
    workspace.finish()
