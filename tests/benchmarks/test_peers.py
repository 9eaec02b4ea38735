"""Drivers of other packages earn the regret of plain NumPy on the same instances; skipped without the package."""

import functools
import importlib
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import drivers, problems
from benchmarks.peers.drivers import DRIVERS
from benchmarks.speed import numpy_armed, numpy_structured
from jaxbandits.duels import DuelingArms

OTHERS = [driver for driver in DRIVERS if driver.package != "jaxbandits"]
SIZES = {
    "linucb": (12, 150),
    "logistic": (12, 200),
    "ogd": (8, 100),
    "glr": (24, 1500),
    "double_ts": (3, 6000),
}  # trials and rounds; else 40, 300


class DisjointLinUCB:
    """Ridge 1, width 1, in the letters of Li et al. (2010), Algorithm 1."""

    def __init__(self):
        self.a = np.tile(np.eye(problems.DIM), (problems.N_ARMS, 1, 1))
        self.b = np.zeros((problems.N_ARMS, problems.DIM))

    def choose(self, x):
        inverse = np.linalg.inv(self.a)
        theta = np.einsum("kij,kj->ki", inverse, self.b)
        return int(np.argmax(theta @ x + problems.ALPHA * np.sqrt(np.einsum("i,kij,j->k", x, inverse, x))))

    def learn(self, x, arm, reward):
        self.a[arm] += np.outer(x, x)
        self.b[arm] += reward * x


def descend(rounds, rng):
    targets = problems.ogd_losses(rounds, rng)
    x, plays = np.zeros(problems.OGD_DIM), np.empty_like(targets)
    for t, target in enumerate(targets):
        plays[t] = x
        x = x - problems.DIAMETER / np.sqrt(t + 1.0) * (x - target) / np.sqrt(1.0 + (x - target) @ (x - target))
        x /= max(1.0, np.linalg.norm(x))
    return problems.ogd_regret(plays, targets)


@functools.cache
def expected_regret(case, rounds):
    """Mean and squared standard error of NumPy's regret."""
    rng = np.random.default_rng(7)
    if case == "linucb":
        regret = np.array([problems.play_contexts(DisjointLinUCB(), rounds, rng) for _ in range(40)])
    elif case == "ogd":
        regret = np.array([descend(rounds, rng) for _ in range(40)])
    elif case in ("glr", "mc_top_m", "double_ts"):
        regret = numpy_structured.regret(case, rounds, rng, 400)
    else:
        algorithm = {"thompson": "thompson_beta"}.get(case, case)
        regret = numpy_armed.regret(algorithm, problems.N_ARMS, rounds, rng, 400)
    return regret.mean(), regret.var(ddof=1) / len(regret)


class Uniform:
    def __init__(self, n_arms, rng):
        self.n_arms, self.rng = n_arms, rng

    def choose(self, context=None):
        return int(self.rng.integers(self.n_arms))

    def learn(self, *interaction):
        pass


def uniform(case, rounds):
    """Mean regret of uniform draws."""
    rng = np.random.default_rng(8)
    play = {
        "ucb1": lambda: problems.play_coins(Uniform(problems.N_ARMS, rng), rounds, rng),
        "linucb": lambda: problems.play_contexts(Uniform(problems.N_ARMS, rng), rounds, rng),
        "logistic": lambda: problems.play_logistic(lambda _: Uniform(problems.LOGISTIC_ARMS, rng), rounds, rng),
        "mc_top_m": lambda: problems.play_team([Uniform(9, rng)] * problems.PLAYERS, rounds, rng),
        "double_ts": lambda: rounds * (np.asarray(DuelingArms.arxiv().preferences)[0].mean() - 0.5),
    }[case]
    return np.mean([play() for _ in range(40)])


@pytest.mark.parametrize("driver", OTHERS, ids=lambda driver: f"{driver.case} {driver.package}")
def test_a_driver_earns_the_regret_of_its_algorithm(driver):
    if not driver.installed:
        pytest.skip(f"{driver.package} is not installed: make peers")
    trials, rounds = SIZES.get(driver.case, (40, 300))
    regret = driver.run(5, trials, rounds)
    assert regret.shape == (trials,) and np.isfinite(regret).all()
    if driver.differs:  # another algorithm: it earns more than uniform draws, and nobody beats the best arm
        assert 0.0 < regret.mean() < 0.8 * uniform(driver.case, rounds)
        return
    mean, error = expected_regret(driver.case, rounds)
    assert abs(regret.mean() - mean) < 5.0 * (error + regret.var(ddof=1) / trials) ** 0.5


def test_no_seed_is_played_twice():
    driver = next((d for d in OTHERS if d.installed), None)
    if driver is None:
        pytest.skip("no other package is installed: make peers")
    assert not np.array_equal(driver.run(1, 8, 100), driver.run(2, 8, 100))


# --- the tables of docs/migrating.md ---------------------------------------------------------------------------------

ROOMS = {  # section: the modules and classes in which a call of its left column may be
    "SMPyBandits": (
        "SMPyBandits.Policies",
        "SMPyBandits.Environment",
        "SMPyBandits.Environment:Evaluator",
        "SMPyBandits.Policies:UCB",
        "SMPyBandits.Arms",
    ),
    "MABWiser": ("mabwiser.mab", "mabwiser.mab:MAB", "mabwiser.mab:LearningPolicy", "mabwiser.simulator"),
    "pymab": ("pymab", "pymab:Experiment"),
    "coba": ("coba", "coba:Environments", "coba:Experiment", "coba:Result"),
    "river": ("river", "river.bandit", "river.proba", "river.bandit:UCB"),
}
NOT_CALLS = {"cb", "mab", "evaluation", "result", "policy", "self", "bandit", "proba"}  # variables and modules


def rows(section):
    """Pairs of cells of a section's table."""
    page = (Path(__file__).parents[2] / "docs" / "migrating.md").read_text()
    text = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]


def names(cell):
    """Return the calls, and the words that stand alone between backticks."""
    spans = re.findall(r"`([^`]+)`", cell)
    called = [name for span in spans for name in re.findall(r"(\w+)\(", span)]
    return {*called, *(span for span in spans if span.isidentifier())} - NOT_CALLS


def resolve(room):
    module, _, name = room.partition(":")
    found = importlib.import_module(module)
    return getattr(found, name) if name else found


@pytest.mark.parametrize("section", ROOMS)
def test_calls_of_the_other_package_exist(section):
    if importlib.util.find_spec(ROOMS[section][0].partition(".")[0]) is None:
        pytest.skip(f"{section} is not installed: make peers")
    if section == "SMPyBandits":
        drivers.import_smpybandits()
    found = [resolve(room) for room in ROOMS[section]]
    asked = {name for left, _ in rows(section) for name in names(left)}
    assert len(asked) > 5
    assert [name for name in sorted(asked) if not any(hasattr(room, name) for room in found)] == []


def test_calls_of_the_right_column_exist():
    jaxbandits = importlib.import_module("jaxbandits")
    for section in ROOMS:
        for _, right in rows(section):
            for dotted in re.findall(r"\b((?:armed|contextual|data|operators)(?:\.\w+)+)", right):
                functools.reduce(getattr, dotted.split("."), jaxbandits)
