"""MovieLens-100k: 100,000 ratings from 1 to 5 of 1,682 films by 943 users (Harper & Konstan, ACM TiiS 2015).

The ratings are in the file `u.data` of `ml-100k.zip`, which GroupLens publishes
(grouplens.org/datasets/movielens/100k) under a licence that forbids redistribution.
"""

import os

from jaxbandits.environments.datasets.ratings import Format, Ratings, read_ratings

SHAPE, N_RATINGS = (943, 1682), 100_000
_FORMAT = Format("movielens-100k", ("user", "item", "rating", "timestamp"), "\t", (1.0, 5.0), 1.0, repeats=False)


def load_movielens(
    path: str | os.PathLike[str], *, shape: tuple[int, int] = SHAPE, n_ratings: int | None = N_RATINGS
) -> Ratings:
    """Read the ratings in `u.data`, plain or gzip-compressed, with tab-separated lines `user item rating timestamp`.

    The ids of users and items start at 1.

    Args:
      path: path of the file.
      shape: number of users and number of items, which bound the ids.
      n_ratings: required number of lines; None for any positive number, for parts of the data such as `u1.base`.

    Raises:
      InputError: if the file cannot be read, a row is malformed, or a pair is rated twice; the message names the file
        and the line.
    """
    return read_ratings(path, _FORMAT, shape, n_ratings)
