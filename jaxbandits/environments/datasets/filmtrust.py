"""FilmTrust ratings of 1,508 users and 2,071 films, from 0.5 to 4 in steps of 0.5 (Guo et al., IJCAI 2013).

The data set by Guo, Zhang and Yorke-Smith was published by the authors of LibRec as the file `ratings.txt` with 35,497
ratings. Three pairs of user and item occur twice, two of them with different ratings. The last rating of a pair counts,
so that 35,494 ratings remain.
"""

import os

from jaxbandits.environments.datasets.ratings import Format, Ratings, read_ratings

SHAPE, N_RATINGS = (1508, 2071), 35_497
_FORMAT = Format("filmtrust", ("user", "item", "rating"), None, (0.5, 4.0), 0.5, repeats=True)


def load_filmtrust(
    path: str | os.PathLike[str], *, shape: tuple[int, int] = SHAPE, n_ratings: int | None = N_RATINGS
) -> Ratings:
    """Read the ratings in `ratings.txt`, plain or gzip-compressed, whose lines are `user item rating` with ids from 1.

    The fields are separated by spaces, or by commas as in common copies of the file.

    Args:
      path: path of the file.
      shape: number of users and number of items, which bound the ids.
      n_ratings: required number of lines; None for any positive number.

    Raises:
      InputError: if the file cannot be read or a row is malformed; the message names the file and the line.
    """
    return read_ratings(path, _FORMAT, shape, n_ratings)
