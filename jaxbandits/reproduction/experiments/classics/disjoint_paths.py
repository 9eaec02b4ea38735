"""Section 6 of Kveton et al. (AISTATS 2015): regret of paths against their number, length and gap."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxbandits.combinatorial import CTS, CombUCB1, SemiBandit
from jaxbandits.estimation.oracles import LayeredPaths
from jaxbandits.reproduction.engine import Panel, Study
from jaxbandits.reproduction.experiments.classics.setting import KVETON_SEMI, PRESETS, LogCurves
from jaxbandits.reproduction.sentences import mean, observations, panel_ratio, slug

_PLACE = "Section 6"
_BEST = 0.5
_HORIZON = 100_000


class _Problem(NamedTuple):
    """Problem of disjoint paths of K items each, in which the first path is better by a gap D per item."""

    n_items: int  # L
    length: int  # K
    gap: float  # D

    @property
    def name(self) -> str:
        return f"items{self.n_items}-length{self.length}-gap{self.gap:g}"

    @property
    def title(self) -> str:
        return f"L = {self.n_items}, K = {self.length}, D = {self.gap:g}"

    @property
    def oracle(self) -> LayeredPaths:
        return LayeredPaths.disjoint(n_paths=self.n_items // self.length, length=self.length)

    @property
    def environment(self) -> SemiBandit:
        n_paths = self.n_items // self.length
        means = np.where(np.arange(self.n_items) % n_paths == 0, _BEST, _BEST - self.gap)
        return SemiBandit.from_means(means, self.oracle)

    @property
    def bound(self) -> float:
        """Bound of Theorem 4, in which the gap of a path is K D."""
        worse = self.n_items - self.length
        first = 534.0 * self.length / (self.length * self.gap) * worse * math.log(_HORIZON)
        return first + (math.pi**2 / 3.0 + 1.0) * self.length * self.n_items


_BASE = _Problem(16, 4, 0.2)
_TWICE = {"L": _Problem(32, 4, 0.2), "1 / D": _Problem(16, 4, 0.1)}
_PROBLEMS = {problem.name: problem for problem in (_BASE, *_TWICE.values(), _Problem(16, 2, 0.2))}
_TITLES = {name: problem.title for name, problem in _PROBLEMS.items()}


def _learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    del preset, horizon
    sizes: dict[str, Any] = {"n_items": panel.environment.n_items, "oracle": panel.environment.oracle}
    return {"CombUCB1": CombUCB1(**sizes), "CTS": CTS(**sizes)}


DISJOINT_PATHS = Study(
    "classics", KVETON_SEMI, horizon=_HORIZON, seeds=64, presets=PRESETS, record_points=("log", 40)
).experiment(
    "disjoint-paths",
    _PLACE,
    title="disjoint paths of K of L items, with the rewards of the chosen items revealed",
    shows="The learner chooses one of L / K disjoint paths of K items; the items of one path pay 1 with probability "
    "1/2, all others with 1/2 - D. According to the theory the regret of CombUCB1 grows no faster than (L / D) log n.",
    algorithms=_learners,
    panels=lambda horizon: {
        name: Panel(problem.title, problem.environment, bound=problem.bound) for name, problem in _PROBLEMS.items()
    },
    claims=(
        *(claim for name, problem in _PROBLEMS.items() for claim in observations(
            "within-bound", mean("CombUCB1") < problem.bound, on={name: _TITLES[name]},
            says="the regret of CombUCB1 is below the bound of Theorem 4", place="Theorem 4")),
        *observations("sampling-ahead", mean("CTS") < mean("CombUCB1"), on=_TITLES,
                      says="Thompson sampling (CTS, Wang and Chen) is ahead of "
                      "CombUCB1", place="Wang & Chen, ICML 2018"),
        *(claim for what, problem in _TWICE.items() for claim in observations(
            f"doubles-with-{slug(what)}", panel_ratio("CombUCB1", problem.name, _BASE.name).between(1.5, 2.5),
            panels=(problem.name, _BASE.name),
            says=f"the regret of CombUCB1 about doubles if {what} doubles", place=_PLACE)),
    ),
    notes=(
        "The figures of the paper were not at hand in print; the instances follow its description of the K-path "
        "bandit. The rewards of items are independent. CTS is added.",
    ),
    figures=(LogCurves(bound=False),),
)  # fmt: skip
