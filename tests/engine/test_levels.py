"""Levels that docstrings promise: every interval, test and race against laws with skewness, ties and heavy tails.

Promises are read from the docstrings: a table there has a law in every row and the most misses in % in every column.
One that is too optimistic fails here, as does a docstring without its table. The slow tests repeat all entries more
often, the others a selection.
"""

import inspect
import itertools
import math
import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy import stats

from jaxbandits.analysis import growth, intervals, pairs, select
from jaxbandits.simulation import racing, stopping
from tests.results import factories

LAWS: dict[str, tuple[Callable, float]] = {  # draws of a size, and their mean
    "normal": (lambda rng, size: rng.normal(size=size), 0.0),
    "Student t (2.5)": (lambda rng, size: rng.standard_t(2.5, size=size), 0.0),
    "exponential": (lambda rng, size: rng.exponential(size=size), 1.0),
    "lognormal (1)": (lambda rng, size: rng.lognormal(size=size), math.exp(0.5)),
    "lognormal (1.5)": (lambda rng, size: rng.lognormal(0.0, 1.5, size), math.exp(1.125)),
    "Pareto (2.5)": (lambda rng, size: rng.pareto(2.5, size), 1.0 / 1.5),
    "coin (0.3)": (lambda rng, size: 1.0 * (rng.random(size) < 0.3), 0.3),
    "coin (0.1)": (lambda rng, size: 1.0 * (rng.random(size) < 0.1), 0.1),
}


def promises(documented) -> list[tuple[str, int, list[float]]]:
    """Return law, column and the numbers of every cell of the table in a docstring."""
    rows = []
    for line in (inspect.getdoc(documented) or "").splitlines():
        name, *cells = re.split(r"\s{2,}", line.strip())
        if name in LAWS:
            rows.append((name, [[float(x) for x in cell.split(",")] for cell in cells]))
    assert rows, f"{documented} has no table of levels"
    return [(name, column, cell) for name, cells in rows for column, cell in enumerate(cells)]


def within(missed: float, promised: float, repeats: int) -> bool:
    """Return whether a share of misses is what a promise in % allows, up to four standard errors."""
    p = promised / 100.0
    return missed <= p + 4.0 * math.sqrt(p * (1.0 - p) / repeats)


def entries(documented, quick: int) -> Iterator:
    """Parametrise by the entries of a table: every one is slow, and those of the first `quick` columns are not."""
    for name, column, cell in promises(documented):
        yield pytest.param(
            name, column, cell, id=f"{name}, column {column}", marks=() if column < quick else pytest.mark.slow
        )


# Intervals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("law", "column", "promised"), [*entries(pairs.skewed_mean, 3)])
def test_the_interval_of_a_skewed_mean(law, column, promised, rng):
    """Column: 16, 50 and 200 values; numbers: at 5 % and at 0.5 %."""
    draw, mean = LAWS[law]
    repeats, n = (8000, 4000, 2000)[column], (16, 50, 200)[column]
    values = draw(rng, (repeats, n))
    for alpha, most in zip((0.05, 0.005), promised, strict=True):
        found = pairs.skewed_mean(values, alpha)
        assert within(np.mean((found.low > mean) | (found.high < mean)), most, repeats), (alpha, most)


def contestants_of(law, shape, rng):
    """Losses `[4, ...]` of one law with mean 0, of sizes 1, 0.5, 0.1 and 0.01."""
    draw, mean = LAWS[law]
    size = np.asarray([1.0, 0.5, 0.1, 0.01]).reshape(-1, *[1] * len(shape))
    return (draw(rng, (4, *shape)) - mean) * size


@pytest.mark.parametrize(("law", "column", "promised"), [*entries(pairs, 3)])
def test_all_pairs_at_once(law, column, promised, rng):
    """Column: 16, 50 and 100 seeds."""
    repeats, n = 2000, (16, 50, 100)[column]
    losses, wrong = contestants_of(law, (repeats, n), rng), np.zeros(repeats, bool)
    for a, b in itertools.combinations(losses, 2):
        found = pairs.skewed_mean(a - b, 0.05 / 6)
        wrong |= (found.low > 0.0) | (found.high < 0.0)
    assert within(wrong.mean(), promised[0], repeats)


def test_the_table_of_pairs_uses_these_intervals(rng):
    losses = contestants_of("lognormal (1)", (50,), rng)
    who = [pairs.Contestant(str(i), factories.trials({"loss": x[None, :, None]}), 0) for i, x in enumerate(losses)]
    for pair, (a, b) in zip(pairs.pairs(who, "loss"), itertools.combinations(losses, 2), strict=True):
        np.testing.assert_allclose(pair.difference[:3], pairs.skewed_mean(a - b, 0.05 / 6)[:3], rtol=1e-9)


def test_equal_differences_decide_nothing(rng):
    """50 of them may hide a failure on one seed in 50; what is known is the share of wins."""
    base = rng.normal(size=50)
    for shift in (1.0, 0.0, -0.1):
        who = [
            pairs.Contestant(name, factories.trials({"loss": losses[None, :, None]}), 0)
            for name, losses in (("a", np.round(base)), ("b", np.round(base) + shift))
        ]
        for margin in (0.0, 5.0):
            (pair,) = found = pairs.pairs(who, "loss", margin=margin)
            assert not pair.is_settled and pair.difference.high - pair.difference.low == np.inf
        assert pair.difference.mean == pytest.approx(-shift) and found.cells(pair)[-1].endswith(
            "undecided: same difference on all seeds"
        )
        if shift == 1.0:
            assert pair.improvement.low == pytest.approx(0.025 ** (1 / 50))
    assert intervals.t_interval(np.ones(50)).deterministic and not intervals.t_interval(base).deterministic


@pytest.mark.parametrize("ties", [0.0, 0.4])
@pytest.mark.parametrize("n", [1, 5, 16, 50])
def test_shares_are_covered_exactly(n, ties):
    """Clopper and Pearson, "coverage at least `1 - alpha`": the exact sum over all outcomes, also with ties."""
    assert "at least `1 - alpha`" in (intervals.share_interval.__doc__ or "")
    for truth in (0.0, 0.01, 0.3, 0.5, 0.97):
        win, tie = truth * (1.0 - ties), ties
        covered = 0.0
        for wins in range(n + 1):
            for tied in range(n + 1 - wins) if ties else (0,):
                chance = stats.multinomial.pmf([wins, tied, n - wins - tied], n, [win, tie, 1.0 - win - tie])
                found = intervals.share_interval(wins, n, 0.05, tied)
                covered += chance * (found.low - 1e-12 <= win + 0.5 * tie <= found.high + 1e-12)
        assert covered >= 0.95 - 1e-9


@pytest.mark.parametrize("interval", [intervals.t_interval, intervals.metric_interval])
def test_students_interval(interval, rng):
    """`level` for normal values of any number; of 50 lognormal ones what its docstring says."""
    for n in (2, 5, 50):
        found = interval(5.0 + rng.normal(size=(n, 6000)), level=0.9)
        covered = np.mean((found.low <= 5.0) & (found.high >= 5.0))
        assert abs(covered - 0.9) < 4.0 * math.sqrt(0.09 / 6000)
    said = re.search(
        r"50 lognormal values [^.]* level 0\.95 [^.]*(0\.\d+)", " ".join((intervals.t_interval.__doc__ or "").split())
    )
    assert said is not None
    found = interval(rng.lognormal(size=(50, 20_000)))
    assert abs(np.mean((found.low <= math.exp(0.5)) & (found.high >= math.exp(0.5))) - float(said[1])) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("law", [law for law in LAWS if law != "coin (0.1)"])
def test_the_interval_of_claims(law):
    """`level` less 0.01 from 64 values on."""
    said = " ".join((intervals.mean_interval.__doc__ or "").split())
    assert "covers at least `level` - 0.01 from 64 values on" in said
    draw, mean = LAWS[law]
    for n in (64, 128):
        rng = np.random.default_rng(n)
        found = [intervals.mean_interval(draw(rng, n)) for _ in range(600)]
        assert within(np.mean([not one.low <= mean <= one.high for one in found]), 6.0, 600), n


def test_the_best_point_is_judged_on_seeds_that_did_not_choose_it(rng):
    """Of 20 points of one law: the interval on the evaluation seeds covers, that on the selection seeds would not."""
    repeats, missed, optimistic = 400, 0, 0
    for _ in range(repeats):
        trials = factories.trials({"loss": 5.0 + rng.normal(size=(20, 40, 1))}, [{"rate": float(i)} for i in range(20)])
        found = select.best("a", trials, "loss", "mean", True, 0.5, 0.95)
        missed += not found.estimate.low <= 5.0 <= found.estimate.high
        seen = intervals.t_interval(trials.final("loss")[found.index, :20])
        optimistic += not seen.low <= 5.0 <= seen.high
    assert within(missed / repeats, 5.0, repeats) and optimistic / repeats > 0.2


def test_growth_and_medians_are_covered(rng):
    """The jackknife of an exponent: curves that are noisy multiples of t^0.6; the median: by order statistics."""
    t, repeats = np.arange(10.0, 310.0, 10.0), 400
    missed = 0
    for _ in range(repeats):
        steps = rng.gamma(2.0, size=(50, len(t))) * t**-0.4
        found = growth._slope(np.log(t), steps.cumsum(axis=1), 0.95)
        truth = np.polyfit(np.log(t), np.log((t**-0.4).cumsum()), 1)[0]
        missed += not found.low <= truth <= found.high
    assert within(missed / repeats, 7.0, repeats)
    for n in (9, 50):
        found = [growth._median(rng.lognormal(size=n), 0.95) for _ in range(2000)]
        assert within(np.mean([not one.low <= 1.0 <= one.high for one in found]), 5.0, 2000)


# Tests ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("law", "column", "promised"), [*entries(stopping, 1)])
def test_decisions_of_groups_of_seeds(law, column, promised, rng):
    """Column: 10 groups of 50, 10 of 20, 4 of 16."""
    repeats, (looks, group) = 400, ((10, 50), (10, 20), (4, 16))[column]
    losses, wrong = contestants_of(law, (repeats, looks * group), rng), np.zeros(repeats, bool)
    for look, alpha in enumerate(pairs.spending(0.05 / 6, looks), start=1):
        for a, b in itertools.combinations(losses[..., : look * group], 2):
            found = pairs.skewed_mean(a - b, alpha)
            wrong |= (found.low > 0.0) | (found.high < 0.0)
    assert within(wrong.mean(), promised[0], repeats)


def test_a_fair_bet(rng):
    """Ville's inequality, "the probability is at most alpha", for gains with mean 0 that are bounded below."""
    assert "is at most alpha" in " ".join((racing.log_wealth.__doc__ or "").split())
    for law in ("exponential", "lognormal (1)", "lognormal (1.5)", "Pareto (2.5)", "coin (0.3)", "coin (0.1)"):
        draw, mean = LAWS[law]
        gains = draw(rng, (1000, 100)) - mean
        reached = np.max([racing.log_wealth(gains[:, :n], mean) for n in range(1, 101)], axis=0)
        for alpha in (0.2, 0.05):
            assert within(np.mean(reached >= -math.log(alpha)), 100.0 * alpha, 1000)


@pytest.mark.parametrize(("law", "column", "promised"), [*entries(racing, 2)])
def test_the_best_point_of_a_race_rarely_drops_out(law, column, promised, rng):
    """Column: 2 points on 64 seeds, 10 on 64, 10 on 128. The best point varies little, its rivals have the law."""
    draw, mean = LAWS[law]
    repeats, (points, seeds) = 150, ((2, 64), (10, 64), (10, 128))[column]
    dropped = 0
    for _ in range(repeats):
        values = 4.0 + (draw(rng, (points, seeds)) - mean)
        if mean:
            values = draw(rng, (points, seeds)) / mean
        values[0] = (1.0 if mean else 4.0) + 0.02 * rng.normal(size=seeds)
        _, rivals = racing.race_values(lambda chosen, a, n: values[chosen, a : a + n], points, seeds, 0.05, 0.0)  # noqa: B023
        dropped += 0 in rivals
    assert within(dropped / repeats, promised[0], repeats)
