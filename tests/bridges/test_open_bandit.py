"""`read_open_bandit` on files in the format of the Open Bandit Dataset, which the tests write."""

import csv

import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.bridges import log_from_obp, read_open_bandit
from tests.bridges.test_logs import assert_equal

N, K = 90, 5
CATEGORIES = (("b1", "a0", "c2"), ("x", "y"))  # of the two user features


def make_rows():
    """Rows in a random order of time, with the entries of a slate side by side."""
    rng = np.random.default_rng(0)
    minutes = rng.permutation(N)
    for i in range(N):
        yield {
            "": i,
            "timestamp": f"2019-11-24 {minutes[i] // 60:02}:{minutes[i] % 60:02}:13.442536+00:00",
            "item_id": rng.integers(K),
            "position": i % 3 + 1,
            "click": int(rng.random() < 0.4),
            "propensity_score": 1 / K,
            "user_feature_0": rng.choice(CATEGORIES[0]),
            "user_feature_1": rng.choice(CATEGORIES[1]),
            **{f"user-item_affinity_{k}": float(rng.integers(3)) for k in range(K)},
        }


ROWS = list(make_rows())


def write(folder, rows, n_items=K):
    folder.mkdir(exist_ok=True)
    with (folder / "men.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    lines = [",item_id,item_feature_0", *(f"{k},{k},{0.1 * k}" for k in range(n_items))]
    (folder / "item_context.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "men", ROWS)


def encode(row):
    return [row["user_feature_0"] == "b1", row["user_feature_0"] == "c2", row["user_feature_1"] == "y"]


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_position_is_a_log_in_the_order_of_time(position, folder):
    log = read_open_bandit(folder, position=position)
    rows = sorted((row for row in ROWS if row["position"] == position + 1), key=lambda row: row["timestamp"])
    assert len(log) == N // 3 and log.n_actions == K and log.actions == ("0", "1", "2", "3", "4")
    for field, name in (("action", "item_id"), ("reward", "click"), ("propensity", "propensity_score")):
        np.testing.assert_array_equal(getattr(log, field), [row[name] for row in rows])
    np.testing.assert_array_equal(log.context, [encode(row) for row in rows])
    assert log.columns == ("user_feature_0=b1", "user_feature_0=c2", "user_feature_1=y")
    with_affinity = read_open_bandit(folder / "men.csv", position=position, affinity=True)
    np.testing.assert_array_equal(with_affinity.context[:, :3], log.context)
    affinities = [[row[f"user-item_affinity_{k}"] for k in range(K)] for row in rows]
    np.testing.assert_array_equal(with_affinity.context[:, 3:], affinities)


def test_it_is_the_log_of_the_dictionary_of_obp(folder):
    rows = sorted(ROWS, key=lambda row: row["timestamp"])
    feedback = {
        "n_actions": K,
        "action": np.array([row["item_id"] for row in rows]),
        "reward": np.array([row["click"] for row in rows]),
        "pscore": np.array([row["propensity_score"] for row in rows]),
        "position": np.array([row["position"] - 1 for row in rows]),
        "context": np.array([encode(row) for row in rows], float),
    }
    assert_equal(read_open_bandit(folder, position=1), log_from_obp(feedback, position=1))


def test_items_that_were_never_shown_are_actions(tmp_path):
    log = read_open_bandit(write(tmp_path / "men", ROWS, n_items=K + 3), position=0)
    assert log.n_actions == K + 3
    (tmp_path / "men" / "item_context.csv").unlink()
    assert read_open_bandit(tmp_path / "men", position=0).n_actions == K  # by the affinities


def test_a_slate_has_three_positions(folder):
    message = (
        r"men.csv is a log of slates with the positions 0 \(left\), 1 \(centre\), 2 \(right\): "
        "choose a position, such as position=0"
    )
    with pytest.raises(InputError, match=message):
        read_open_bandit(folder)
    with pytest.raises(InputError, match=r"position must be a whole number in \[0, 2\], got 3"):
        read_open_bandit(folder, position=3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"position": 4}, r"men.csv, line 3: position must be in \[1, 3\], got 4"),
        ({"click": 2}, r"men.csv, line 3: click must be in \[0, 1\], got 2"),
        ({"item_id": K}, rf"men.csv, line 3: item_id must be in \[0, {K - 1}\], got {K}"),
        ({"item_id": "hat"}, "men.csv, line 3: .*item_id.* must be a whole number, got 'hat'"),
        ({"propensity_score": 0.0}, r"men.csv, line 3: propensity_score must be in \(0, 1\], got 0.0"),
        ({"user_feature_0": ""}, "men.csv, line 3: .*user_feature_0.* must be a name"),
    ],
)
def test_wrong_cells_are_named(changes, message, tmp_path):
    rows = [ROWS[0], ROWS[1] | changes, *ROWS[2:]]
    with pytest.raises(InputError, match=message):
        read_open_bandit(write(tmp_path / "men", rows), position=0)


def test_missing_files_and_columns(tmp_path, folder):
    with pytest.raises(InputError, match=r"unknown column of .*'click'"):
        read_open_bandit(write(folder, [{k: v for k, v in row.items() if k != "click"} for row in ROWS]), position=0)
    with pytest.raises(InputError, match=r"must contain one csv file in addition to item_context\.csv .*it contains 0"):
        read_open_bandit(tmp_path, position=0)
    with pytest.raises(InputError, match="cannot read"):
        read_open_bandit(tmp_path / "women.csv", position=0)
    rows = [{name: cell for name, cell in row.items() if "affinity" not in name} for row in ROWS]
    (write(folder, rows) / "item_context.csv").unlink()
    with pytest.raises(InputError, match="does not say how many items there are"):
        read_open_bandit(folder, position=0)
    with pytest.raises(InputError, match="has no events in position 2"):
        read_open_bandit(write(folder, [row for row in ROWS if row["position"] < 3]), position=2)
