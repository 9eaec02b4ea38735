"""Run one algorithm (`simulate`), several on paired seeds (`compare`), or the points of a grid (`sweep`)."""

from collections.abc import Mapping
from typing import Unpack

from jaxbandits.base.errors import InputError
from jaxbandits.engine.grid import Grid, Points, without_iterators
from jaxbandits.engine.jobs import Algorithms, PerLabel, default_label
from jaxbandits.engine.options import Settings, make_options
from jaxbandits.engine.plan import RecordPoints
from jaxbandits.results.result import Result
from jaxbandits.simulation.comparison import run_comparison
from jaxbandits.simulation.stopping import StoppingRule, check_rule, run_until_decided
from jaxbandits.tracing.settings import own_settings
from jaxbandits.types import Algorithm, Environment


def simulate(
    algorithm: Algorithm,
    environment: Environment,
    horizon: int,
    seeds: int,
    *,
    record_points: RecordPoints = 100,
    **settings: Unpack[Settings],
) -> Result:
    """Run independent trials of one algorithm.

    Args:
      algorithm: an object with `init`, `select`, `update` (see `jaxbandits.types.Algorithm`).
      environment: an object with `init`, `observe`, `step`.
      horizon: rounds per trial, 1 to 2^31 - 1.
      seeds: number of trials; trial i depends only on `seed` and `i`, so that more seeds do not change the earlier
        trials.
      record_points: rounds at which metrics are recorded: a number n of evenly spaced points, `"log"` or `("log", n)`
        for logarithmically spaced points, or a list of rounds.
      **settings: see `Options`.

    Returns:
      A `Result` with one label, the name of the class.

    Raises:
      InputError: if an argument is invalid.

    Example:
      >>> from jaxbandits import HeavyTailed, OFUL, simulate
      >>> env = HeavyTailed(dim=2, n_arms=10)
      >>> result = simulate(OFUL(dim=2), env, horizon=100, seeds=8, progress=False)
      >>> result.final("regret").shape  # [point, seed]
      (1, 8)
    """
    return compare(
        {default_label(algorithm): algorithm}, environment, horizon, seeds, record_points=record_points, **settings
    )


@own_settings()
def compare(
    algorithms: Algorithms,
    environment: PerLabel[Environment],
    horizon: PerLabel[int],
    seeds: PerLabel[int],
    *,
    record_points: PerLabel[RecordPoints] = 100,
    until: StoppingRule | str | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Run several algorithms on the same instances and noise (paired seeds).

    Most arguments may also be mappings from labels to values, for example fewer seeds for a slow learner, or a
    different environment for each learner.

    Args:
      algorithms: mapping from labels to algorithms or to `Grid`s (a `Grid` is an algorithm with the points to run); or
        a list of these, whose labels are the class names.
      environment: one value, or a mapping from labels to values.
      horizon: rounds per trial; one value, or a mapping from labels to values.
      seeds: trials per hyperparameter point; one value, or a mapping from labels to values.
      record_points: as for `simulate`; one value, or a mapping from labels to values.
      until: `"decided"` or a `StoppingRule`: add seeds in groups of `seeds` until every pair of labels (and points) is
        decided, or the largest number of groups (ten for `"decided"`) has run. A label whose pairs are all decided
        receives no further seeds. The probability of any wrong decision is at most 5 % by default (a group-sequential
        test; the documentation of `jaxbandits.simulation.stopping` has the measured error for skewed metrics, which
        need groups of 50 seeds). `result.pairs()` shows the decisions.
      **settings: see `Options`.

    Returns:
      A `Result` with one set of trials per label.

    Raises:
      InputError: if an argument is invalid.
    """
    rule = None if until is None else check_rule(until)
    options = make_options(**settings)
    if rule is None:
        return run_comparison(algorithms, environment, horizon, seeds, record_points, options)
    return run_until_decided(rule, algorithms, environment, horizon, seeds, record_points, options)


def sweep(
    algorithm: Algorithm | Mapping[str, Algorithm | Grid],
    environment: PerLabel[Environment],
    horizon: PerLabel[int],
    seeds: PerLabel[int],
    *,
    grid: Points,
    record_points: PerLabel[RecordPoints] = 100,
    **settings: Unpack[Settings],
) -> Result:
    """Run an algorithm at every point of a grid over its own fields or fields of the environment.

    Args:
      algorithm: the algorithm, whose fields that `grid` does not name keep their values; or a mapping from labels to
        algorithms, which all run on the same grid (a `Grid` among them keeps its own points).
      environment: the environment.
      horizon: rounds per trial.
      seeds: trials per grid point; all points have the same instances and noise.
      grid: mapping from fields to lists of values, of which all combinations are run; or a list of points, as
        `zip_fields` and `product` return it. A name is a field of the algorithm (`"beta_scale"`), with dots for nested
        fields; `"environment.noise.df"` is a field of the environment. Points that differ in traced fields share one
        compiled program; each value of a static field has its own program. If a field holds an array, its values are
        arrays, or a mapping from names to arrays, which results then show under these names (see `Grid`).
      record_points: as for `simulate`.
      **settings: see `Options`.

    Returns:
      A `Result` with one label, the name of the class, or with the given labels; and one point per grid point.

    Raises:
      InputError: if an argument is invalid.
    """
    labelled = algorithm if isinstance(algorithm, Mapping) else {default_label(algorithm): algorithm}
    if labelled and all(isinstance(a, Grid) for a in labelled.values()):
        raise InputError("`grid` has no effect on a Grid, which has its own points: use `compare`")
    points = without_iterators(grid)
    grids = {label: a if isinstance(a, Grid) else Grid(a, points) for label, a in labelled.items()}
    return compare(grids, environment, horizon, seeds, record_points=record_points, **settings)
