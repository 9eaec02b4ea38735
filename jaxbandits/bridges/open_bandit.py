"""Logs of the Open Bandit Dataset (Saito, Aihara, Matsutani & Narita, NeurIPS 2021), from its csv files.

A folder such as `random/men` (policy and campaign) has the files `men.csv` and `item_context.csv`. Each row of
`men.csv` is an item that was shown. Its columns are `timestamp`, `item_id`, `position` (1 left, 2 centre, 3 right),
`click`, `propensity_score`, the hashed categories `user_feature_0`, ..., and `user-item_affinity_0`, ..., a score for
each item.
"""

import os
from pathlib import Path

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.environments.data.logs import Log
from jaxbandits.environments.datasets.files import TextFile, polars

_ITEMS = "item_context.csv"
_POSITIONS = ("left", "centre", "right")
_KINDS = {
    "timestamp": "text",
    "item_id": "integer",
    "position": "integer",
    "click": "integer",
    "propensity_score": "number",
}


def read_open_bandit(path: str | os.PathLike[str], *, position: int | None = None, affinity: bool = False) -> Log:
    """Read the log of one position of a campaign.

    Three items are shown together, in the positions 0, 1 and 2, and clicks depend on the position. The log of a bandit
    therefore has the events of one position only, in chronological order.

    Args:
      path: folder of a campaign, such as `obd/random/men`, or its csv file.
      position: 0 (left), 1 (centre) or 2 (right); required.
      affinity: True to append the affinities of the user to all items to the context.

    Returns:
      A log whose actions are the items 0, ..., K - 1. K is the number of rows of `item_context.csv`, or the number of
      affinity columns if this file is missing. The context `[n, p]` is a one-hot encoding of the user features without
      the first category of each in sorted order, as in obp; the categories are those that occur in any position.
      Rewards are the clicks.

    Raises:
      InputError: if `position` is None or has no events, if a file or column is missing, or if a cell is invalid (the
        message names its line).
    """
    file = TextFile(_find_csv(path), header=True)
    users = [name for name in file.names if name.startswith("user_feature_")]
    affinities = [name for name in file.names if name.startswith("user-item_affinity_")]
    kinds = {file.column(name, name): kind for name, kind in _KINDS.items()}
    frame = file.read(kinds | dict.fromkeys(users, "text") | dict.fromkeys(affinities if affinity else [], "number"))
    n_items = _count_items(file.path, len(affinities))
    pl = polars()
    for name, low, high in (("position", 1, 3), ("click", 0, 1), ("item_id", 0, n_items - 1)):
        allowed = f"{name} must be in [{low}, {high}]"
        file.require(frame, name, pl.col(name).is_between(low, high), lambda cell, a=allowed: f"{a}, got {cell}")
    propensity = pl.col("propensity_score")
    message = "propensity_score must be in (0, 1], got {}".format
    file.require(frame, "propensity_score", (propensity > 0.0) & (propensity <= 1.0), message)
    if position is None:
        places = ", ".join(f"{i} ({place})" for i, place in enumerate(_POSITIONS))
        raise InputError(
            f"{file.path} is a log of slates with the positions {places}: choose a position, such as position=0"
        )
    chosen = ranges.integer("position", position, "[0, 2]") + 1
    categories = {name: frame[name].unique().sort().to_list()[1:] for name in users}
    events = frame.filter(pl.col("position") == chosen).sort("timestamp", maintain_order=True)
    if not len(events):
        raise InputError(f"{file.path} has no events in position {position}")
    columns = {
        f"{name}={category}": events[name].to_numpy() == category for name in users for category in categories[name]
    }
    columns |= {name: events[name].to_numpy() for name in (affinities if affinity else [])}
    return Log(
        action=events["item_id"].to_numpy().astype(np.int32),
        reward=events["click"].to_numpy().astype(np.float64),
        propensity=events["propensity_score"].to_numpy(),
        context=np.stack([*columns.values()], axis=1).astype(np.float64) if columns else None,
        actions=tuple(map(str, range(n_items))),
        columns=tuple(columns),
    )


def _find_csv(path: str | os.PathLike[str]) -> Path:
    """Return the path of the csv file of a campaign."""
    folder = Path(path)
    if not folder.is_dir():
        return folder
    found = sorted(file for file in folder.glob("*.csv") if file.name != _ITEMS)
    if len(found) != 1:
        raise InputError(
            f"{folder} must contain one csv file in addition to {_ITEMS} (as obd/random/men does), but it contains "
            f"{len(found)}"
        )
    return found[0]


def _count_items(path: str | os.PathLike[str], n_affinities: int) -> int:
    """Return K, the number of items of a campaign.

    Raises:
      InputError: if both the file of the items and the affinity columns are missing.
    """
    items = Path(path).parent / _ITEMS
    if items.exists():
        return len(TextFile(items, header=True).read({"item_id": "integer"}))
    if not n_affinities:
        raise InputError(f"{path} does not say how many items there are: {items} is missing")
    return n_affinities
