"""The UCI Covertype data: a reader of the file, a synthetic stand-in of the same shape, and clusters of rows as arms.

The file of Blackard & Dean's forest cover types (UCI Machine Learning Repository) has 581,012 rows and no header. A row
has 55 comma-separated integers: 10 measurements, indicators of 4 wilderness areas and 40 soil types, and the cover type
1, ..., 7. The paper that we follow (arXiv:2507.11847) clusters the measurements into 60 arms; a play of an arm draws a
row of its cluster and pays 1 if the cover type of this row is 2 (lodgepole pine).
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.environments.datasets.files import TextFile, check_row_count

MEASUREMENTS, COLUMNS, CLASSES = 10, 55, 7
N_ROWS = 581_012
LODGEPOLE_PINE = 2
_CHUNK = 20_000  # rows per block in the assignment to clusters, which limits the memory for distances [rows, k]


class Rows(NamedTuple):
    """Rows of the data set, with binary labels."""

    features: np.ndarray  # [N, 10]  measurements, not standardised
    labels: np.ndarray  # [N]  1 if the row has the rewarded cover type, else 0
    source: str  # "covertype" | "stand-in"


class Clusters(NamedTuple):
    """Arms of a bandit, each of which is a cluster of rows."""

    arms: np.ndarray  # [K, d]  mean standardised row of each cluster, and a constant; the largest norm is 1
    means: np.ndarray  # [K]  fraction of label 1 in each cluster, the mean reward of the arm
    sizes: np.ndarray  # [K]  number of rows in each cluster
    source: str  # source of the rows


def load_covertype(path: str | os.PathLike[str], rewarded: int = LODGEPOLE_PINE) -> Rows:
    """Read `covtype.data` or `covtype.data.gz` of the UCI repository, and return its measurements and binary labels.

    Args:
      path: path of the file; gzip is detected from the first bytes.
      rewarded: cover type (1, ..., 7) whose rows have the label 1.

    Raises:
      InputError: if the file cannot be read or a row is malformed; the message names the file and the line.

    Warns:
      IncompleteDataWarning: if the file has another number of rows than the published file.
    """
    rewarded = ranges.integer("rewarded", rewarded, f"[1, {CLASSES}]")
    features, cover_types = _read(path, range(MEASUREMENTS), 1)
    return Rows(features, (cover_types == rewarded).astype(np.float64), "covertype")


def load_cover_types(path: str | os.PathLike[str], every: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Read and return all attributes `[n, 54]` and the cover types `[n]` (1, ..., 7) of every `every`-th row.

    Raises:
      InputError: if the file cannot be read or a row is malformed; the message names the file and the line.

    Warns:
      IncompleteDataWarning: if the file has another number of rows than the published file.
    """
    return _read(path, range(COLUMNS - 1), ranges.integer("every", every, "[1, 1e9]"))


def _read(path: str | os.PathLike[str], features: Sequence[int], every: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns `features` `[n, p]` and the cover types `[n]` of every `every`-th row."""
    file = TextFile(path, names=[*map(str, range(COLUMNS))])
    columns, cover_type = [*map(str, features)], file.names[-1]
    frame = file.read(dict.fromkeys([*columns, cover_type], "integer"))
    allowed = f"the cover type (column {COLUMNS}) must be from 1 to {CLASSES}, got {{}}"
    file.require(frame, cover_type, frame[cover_type].is_between(1, CLASSES), allowed.format)
    check_row_count(path, len(frame), N_ROWS)
    frame = frame[::every]
    return frame.select(columns).to_numpy(order="c").astype(np.float64), frame[cover_type].to_numpy()


def covertype_like(rows: int = 20_000, seed: int = 0) -> Rows:
    """Return synthetic data with the shape of the Covertype data, for use without the file; `source` is "stand-in".

    The 10 columns are correlated through 4 latent factors, and half of them are skewed. The labels follow a logistic
    model with a nonlinear term, which a model that is linear in the cluster means cannot fit exactly.
    """
    rows = ranges.integer("rows", rows, "[1, 1e9]")
    rng = np.random.default_rng(ranges.integer("seed", seed, "[0, inf)"))
    latent = rng.standard_normal((rows, 4))
    columns = latent @ rng.standard_normal((4, MEASUREMENTS)) + 0.5 * rng.standard_normal((rows, MEASUREMENTS))
    skewed = np.where(np.arange(MEASUREMENTS) % 2 == 0, np.exp(0.3 * columns / np.sqrt(4.25)), columns)
    standard = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    weight = rng.standard_normal(MEASUREMENTS)
    logit = 0.9 * standard @ (weight / np.linalg.norm(weight)) + 0.5 * (np.abs(latent[:, 0]) - 0.8)
    labels = (rng.random(rows) < 1.0 / (1.0 + np.exp(-logit))).astype(np.float64)
    return Rows(skewed, labels, "stand-in")


def clusters(rows: Rows, n_arms: int = 60, seed: int = 0, subsample: int = 20_000, iterations: int = 30) -> Clusters:
    """Return arms that are clusters of rows, found by k-means on a subsample of the standardised rows.

    Every row is assigned to the nearest centre. An arm is the mean row of a cluster with a 1 appended. All arms are
    divided by the largest norm; this step is ours, because the theory requires arms in the unit ball, but the paper
    does not mention it.

    Args:
      rows: rows of the data set.
      n_arms: number of clusters.
      seed: seed of the subsample and of k-means.
      subsample: number of rows to which k-means is applied.
      iterations: largest number of iterations of k-means.

    Raises:
      InputError: if the subsample has fewer distinct rows than there are arms, or if a cluster is empty.
    """
    if not isinstance(rows, Rows):
        raise InputError(f"rows must be a Rows(features, labels, source) object, got {format_value(rows)}")
    n_arms, seed = ranges.integer("n_arms", n_arms, "[1, 1e9]"), ranges.integer("seed", seed, "[0, inf)")
    subsample, iterations = ranges.integer("subsample", subsample), ranges.integer("iterations", iterations, "[0, inf)")
    spread = rows.features.std(axis=0)
    standard = (rows.features - rows.features.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    rng = np.random.default_rng(seed)
    few = len(standard) <= subsample
    points = standard if few else standard[np.sort(rng.choice(len(standard), subsample, replace=False))]
    centers = kmeans(points, n_arms, rng, iterations)
    nearest = np.concatenate([_nearest(standard[i : i + _CHUNK], centers)[0] for i in range(0, len(standard), _CHUNK)])
    sizes = np.bincount(nearest, minlength=n_arms)
    if (sizes == 0).any():
        raise InputError(f"{int((sizes == 0).sum())} of {n_arms} clusters are empty: choose fewer arms")
    sums = np.stack([np.bincount(nearest, column, n_arms) for column in standard.T], axis=1)
    arms = np.column_stack([sums / sizes[:, None], np.ones(n_arms)])
    means = np.bincount(nearest, rows.labels, n_arms) / sizes
    return Clusters(arms / np.linalg.norm(arms, axis=1).max(), means, sizes, rows.source)


def kmeans(points: np.ndarray, k: int, rng: np.random.Generator, iterations: int = 30) -> np.ndarray:
    """Return centres `[k, d]` by k-means++ seeding (Arthur & Vassilvitskii, SODA 2007) and Lloyd's iterations.

    A cluster that loses all its points keeps its centre.

    Raises:
      InputError: if `points` has fewer than k distinct rows.
    """
    if not 1 <= k <= len(points):
        raise InputError(f"k-means needs 1 <= k <= {len(points)} points, got k = {k}")
    centers = np.empty((k, points.shape[1]))
    centers[0] = points[rng.integers(len(points))]
    distance = np.sum((points - centers[0]) ** 2, axis=1)
    for i in range(1, k):
        total = distance.sum()
        if not total > 0.0:
            raise InputError(f"k-means needs {k} distinct points, found {i}")
        centers[i] = points[rng.choice(len(points), p=distance / total)]
        distance = np.minimum(distance, np.sum((points - centers[i]) ** 2, axis=1))
    for _ in range(iterations):
        nearest, _ = _nearest(points, centers)
        sizes = np.bincount(nearest, minlength=k)
        sums = np.stack([np.bincount(nearest, column, k) for column in points.T], axis=1)
        moved = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centers)
        if np.array_equal(moved, centers):
            break
        centers = moved
    return centers


def _nearest(points: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the index `[N]` of the nearest centre of each point, and the squared distance minus ||point||^2."""
    score = np.sum(centers**2, axis=1) - 2.0 * points @ centers.T
    nearest = np.argmin(score, axis=1)
    return nearest, score[np.arange(len(points)), nearest]
