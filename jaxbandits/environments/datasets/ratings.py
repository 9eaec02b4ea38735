"""Ratings: observed entries of a matrix of users and items, which are read from text files or generated.

This module defines the container `Ratings`, the reader that `movielens.py` and `filmtrust.py` use, and synthetic
low-rank ratings.
"""

import dataclasses
import os

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.deprecation import alias
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.environments.datasets.files import TextFile, polars, read_bytes


@dataclasses.dataclass(frozen=True)
class Ratings:
    """Observed entries of a matrix of m users and n items; every pair of user and item occurs at most once."""

    users: np.ndarray  # [N] int32, index of the user, from 0
    items: np.ndarray  # [N] int32, index of the item, from 0
    ratings: np.ndarray  # [N] float64
    shape: tuple[int, int]  # (m, n), including users and items without ratings
    scale: tuple[float, float]  # smallest and largest possible rating
    source: str  # "movielens-100k" | "filmtrust" | "stand-in"

    def __len__(self) -> int:
        """Return N, the number of ratings."""
        return len(self.ratings)


@dataclasses.dataclass(frozen=True)
class Format:
    """Format of a file of ratings, whose lines have the user, the item, the rating, and possibly unused fields."""

    source: str  # name of the data
    fields: tuple[str, ...]  # names of the fields of a line
    separator: str | None  # None: spaces or commas
    scale: tuple[float, float]  # smallest and largest possible rating
    step: float  # difference between neighbouring ratings
    repeats: bool  # whether a pair may occur several times, in which case the last rating counts


def read_ratings(path: str | os.PathLike[str], form: Format, shape: tuple[int, int], n_ratings: int | None) -> Ratings:
    """Read a file with one rating per line; the ratings are in the order of the file.

    Args:
      path: path of the file, plain or compressed; blank lines are skipped.
      form: format of the file.
      shape: number of users and number of items, which bound the ids; ids start at 1.
      n_ratings: required number of lines; None for any positive number.

    Raises:
      InputError: if the file cannot be read or a row is malformed; the message names the file and the line.
    """
    if n_ratings is not None and not _is_count(n_ratings):
        raise InputError(f"n_ratings must be a whole number of at least 1, or None for any number, got {n_ratings!r}")
    shape = _checked_shape(shape)
    commas = b"," in read_bytes(path).partition(b"\n")[0]  # some copies of space-separated files use commas
    file = TextFile(path, separator=form.separator or " ,"[commas], names=form.fields)
    frame = file.read({name: "number" if name == "rating" else "integer" for name in form.fields})
    for name, most in zip(("user", "item"), shape, strict=True):
        allowed = f"the {name} must be from 1 to {most}, got {{}}"
        file.require(frame, name, frame[name].is_between(1, most), allowed.format)
    (low, high), rating = form.scale, frame["rating"]
    allowed = f"the rating must be from {low:g} to {high:g} in steps of {form.step:g}, got {{:g}}"
    file.require(frame, "rating", rating.is_between(low, high) & ((rating - low) % form.step == 0.0), allowed.format)
    if n_ratings is not None and len(frame) != n_ratings:
        raise InputError(f"{path} has {len(frame)} ratings, expected {n_ratings} (n_ratings=None accepts any number)")
    pairs = frame.select(pair=polars().struct("user", "item"))
    if not form.repeats:
        again = "user {0[user]} has rated item {0[item]} before"
        file.require(frame.with_columns(pairs), "pair", pairs["pair"].is_first_distinct(), again.format)
    frame = frame.unique(["user", "item"], keep="last", maintain_order=True)
    users, items = (frame[name].to_numpy().astype(np.int32) - np.int32(1) for name in ("user", "item"))
    return Ratings(users, items, frame["rating"].to_numpy(), shape, form.scale, form.source)


def densest_part(ratings: Ratings, users: int, items: int) -> Ratings:
    """Return the ratings of the most rated items by the users with the most ratings.

    Users and items are selected by their numbers of ratings in the whole data set. Ties go to the lower id. The ids are
    renumbered from 0 in their original order.

    Args:
      ratings: ratings with at least `users` users and `items` items.
      users: number of users to keep.
      items: number of items to keep.

    Raises:
      InputError: if `users` or `items` is less than 1 or exceeds the available number.
    """
    kept = []
    for ids, most, wanted, what in zip(
        (ratings.users, ratings.items), ratings.shape, (users, items), ("users", "items"), strict=True
    ):
        if not _is_count(wanted) or wanted > most:
            raise InputError(f"{what} must lie in [1, {most}], got {format_value(wanted)}")
        counts = np.bincount(ids, minlength=most)
        kept.append(np.sort(np.argsort(-counts, kind="stable")[:wanted]))
    chosen = np.isin(ratings.users, kept[0]) & np.isin(ratings.items, kept[1])
    new = (np.searchsorted(of, ids[chosen]) for of, ids in zip(kept, (ratings.users, ratings.items), strict=True))
    rows, cols = (ids.astype(np.int32) for ids in new)
    return dataclasses.replace(
        ratings, users=rows, items=cols, ratings=ratings.ratings[chosen], shape=(int(users), int(items))
    )


def low_rank_ratings(
    shape: tuple[int, int] = (943, 1682),
    n_ratings: int = 100_000,
    *,
    rank: int = 3,
    scale: tuple[float, float] = (1.0, 5.0),
    step: float = 1.0,
    noise: float = 0.3,
    seed: int = 0,
) -> Ratings:
    """Return synthetic ratings, which are random entries of a low-rank matrix plus noise; their `source` is "stand-in".

    The rating of item j by user i is `(low + high) / 2 + 0.5 + 0.225 (high - low) <a_i, b_j> / sqrt(rank) + noise z`
    for standard normal a_i, b_j [rank] and z, rounded to a multiple of `step` above `low` and clipped to the scale.

    Args:
      shape: number of users and number of items.
      n_ratings: number of observed entries, which are drawn without replacement.
      rank: rank of the matrix without noise and rounding.
      scale: smallest and largest rating.
      step: difference between neighbouring ratings.
      noise: standard deviation of the noise term.
      seed: seed of the draws.
    """
    users, items = shape = _checked_shape(shape)
    low, high = scale
    if not _is_count(n_ratings) or n_ratings > users * items:
        raise InputError(f"n_ratings must lie in [1, {users * items}] for shape {shape}, got {format_value(n_ratings)}")
    if not _is_count(rank):
        raise InputError(f"rank must be a whole number of at least 1, got {rank!r}")
    if not (low < high and step > 0.0 and noise >= 0.0 and np.isfinite([low, high, step, noise]).all()):
        raise InputError(
            f"ratings need low < high, step > 0 and noise >= 0, got scale {scale}, step {step}, noise {noise}"
        )
    rng = np.random.default_rng(ranges.integer("seed", seed, "[0, inf)"))
    left, right = rng.standard_normal((users, rank)), rng.standard_normal((items, rank))
    i, j = np.divmod(rng.choice(users * items, n_ratings, replace=False), items)
    explained = np.einsum("nk,nk->n", left[i], right[j]) / np.sqrt(rank)
    liking = 0.5 * (low + high) + 0.5 + 0.225 * (high - low) * explained + noise * rng.standard_normal(n_ratings)
    ratings = np.clip(low + step * np.round((liking - low) / step), low, high)
    return Ratings(i.astype(np.int32), j.astype(np.int32), ratings, shape, (float(low), float(high)), "stand-in")


def _checked_shape(shape: tuple[int, int]) -> tuple[int, int]:
    if not isinstance(shape, (tuple, list)) or len(shape) != 2 or not all(map(_is_count, shape)):
        raise InputError(f"shape must be (users, items), two whole numbers of at least 1, got {format_value(shape)}")
    if max(shape) >= 2**31:
        raise InputError(f"both numbers of shape must be less than 2^31, got {shape!r}")
    return int(shape[0]), int(shape[1])


def _is_count(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 1)


most_rated = alias(densest_part, "most_rated")
