"""Every name that a specification may use: ALGORITHMS, ENVIRONMENTS, and PARTS, what these are made of, written out.

`to_spec(OFUL(dim=2))` is `{"type": "linear/oful", "dim": 2, "noise_scale": 1.0, ...}`, and
`from_spec({"type": "linear/oful", "dim": 2, "ridge": 0.5})` is `OFUL(dim=2, ridge=0.5)`.

Reading a name imports what it stands for and nothing else. Writing one imports nothing, for every run does it: an
algorithm or environment of this package is called after its file, `linear/oful` in `algorithms/linear/oful.py`, and
parts are looked for in modules that are loaded already.
"""

import sys
from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np

from jaxbandits.base import lazy, registry, spec
from jaxbandits.base.errors import InputError
from jaxbandits.base.registry import Entry

FAMILIES = ("armed", "explore", "contextual", "linear", "glm", "oco", "coco", "dro", "operators", "data")

# Name -> "module:name", or the class or function that a user registered.
PARTS: dict[str, Any] = {
    "noise/gaussian": "jaxbandits.environments.linear.noise:Gaussian",
    "noise/student_t": "jaxbandits.environments.linear.noise:StudentT",
    "noise/pareto": "jaxbandits.environments.linear.noise:Pareto",
    "noise/lomax": "jaxbandits.environments.linear.noise:Lomax",
    "noise/fisk": "jaxbandits.environments.linear.noise:Fisk",
    "link/gaussian": "jaxbandits.estimation.links:Gaussian",
    "link/bernoulli": "jaxbandits.estimation.links:Bernoulli",
    "link/poisson": "jaxbandits.estimation.links:Poisson",
    "link/exponential": "jaxbandits.estimation.links:Exponential",
    "domain/box": "jaxbandits.domains.box:Box",
    "domain/capped_simplex": "jaxbandits.domains.capped_simplex:CappedSimplex",
    "domain/l1_ball": "jaxbandits.domains.l1_ball:L1Ball",
    "domain/l2_ball": "jaxbandits.domains.ball:L2Ball",
    "domain/nuclear_ball": "jaxbandits.domains.nuclear:NuclearBall",
    "domain/polytope": "jaxbandits.domains.polytope:Polytope",
    "domain/shrunk": "jaxbandits.domains.shrunk:Shrunk",
    "domain/simplex": "jaxbandits.domains.simplex:Simplex",
    "domain/spectrahedron": "jaxbandits.domains.spectrahedron:Spectrahedron",
    "domain/whole_space": "jaxbandits.domains.whole_space:WholeSpace",
    "sequence/constant": "jaxbandits.environments.oco.sequences:Constant",
    "sequence/alternating": "jaxbandits.environments.oco.sequences:Alternating",
    "sequence/corrupted": "jaxbandits.environments.oco.sequences:IsolatedFlips",
    "sequence/drift": "jaxbandits.environments.oco.sequences:Drift",
    "sequence/piecewise": "jaxbandits.environments.oco.sequences:Piecewise",
    "drift/piecewise": "jaxbandits.environments.operators.drifting:PiecewiseDrift",
    "drift/random_walk": "jaxbandits.environments.operators.drifting:RandomWalk",
    "drift/given": "jaxbandits.environments.operators.drifting:Given",
    "data/log": "jaxbandits.environments.data.logged_replay:Events",
    "data/reward_table": "jaxbandits.environments.data.table_bandit:RewardTable",
    "data/trace": "jaxbandits.environments.data.recorded_trace:Trace",
    "data/observed": "jaxbandits.environments.coco.matrix_completion:Observed",
    "group_loss/logistic": "jaxbandits.environments.dro.group_losses:Logistic",
    "group_loss/squared": "jaxbandits.environments.dro.group_losses:Squared",
    "group_loss/hinge": "jaxbandits.environments.dro.group_losses:Hinge",
    "group_loss/custom": "jaxbandits.environments.dro.group_losses:Custom",
    "data/rows": "jaxbandits.environments.dro.group_data:Rows",
    "data/phases": "jaxbandits.environments.armed.switching_arms:Phases",
    "data/table": "jaxbandits.environments.oco.data_stream:Table",
    "estimator/one_point": "jaxbandits.algorithms.coco.one_point:OnePoint",
    "estimator/two_point": "jaxbandits.algorithms.coco.two_point:TwoPoint",
    "estimator/hvt": "jaxbandits.algorithms.linear.hvt_estimator:HvtEstimator",
    # What OptaxLearner may be made of.
    "optax/decaying_sgd": "jaxbandits.algorithms.oco.optax_learner:decaying_sgd",
    "optax/dog_from_distance": "jaxbandits.algorithms.oco.optax_learner:dog_from_distance",
    "optax/dowg_from_distance": "jaxbandits.algorithms.oco.optax_learner:dowg_from_distance",
    "optax/mechanized_sgd": "jaxbandits.algorithms.oco.optax_learner:mechanized_sgd",
    "optax/adabelief": "optax:adabelief",
    "optax/adadelta": "optax:adadelta",
    "optax/adagrad": "optax:adagrad",
    "optax/adam": "optax:adam",
    "optax/adamax": "optax:adamax",
    "optax/adamaxw": "optax:adamaxw",
    "optax/adamw": "optax:adamw",
    "optax/adan": "optax:adan",
    "optax/amsgrad": "optax:amsgrad",
    "optax/fromage": "optax:fromage",
    "optax/lamb": "optax:lamb",
    "optax/lars": "optax:lars",
    "optax/lbfgs": "optax:lbfgs",
    "optax/lion": "optax:lion",
    "optax/nadam": "optax:nadam",
    "optax/nadamw": "optax:nadamw",
    "optax/noisy_sgd": "optax:noisy_sgd",
    "optax/novograd": "optax:novograd",
    "optax/optimistic_adam": "optax:optimistic_adam",
    "optax/optimistic_gradient_descent": "optax:optimistic_gradient_descent",
    "optax/polyak_sgd": "optax:polyak_sgd",
    "optax/radam": "optax:radam",
    "optax/rmsprop": "optax:rmsprop",
    "optax/rprop": "optax:rprop",
    "optax/sgd": "optax:sgd",
    "optax/sign_sgd": "optax:sign_sgd",
    "optax/sm3": "optax:sm3",
    "optax/yogi": "optax:yogi",
    "optax/acprop": "optax.contrib:acprop",
    "optax/ademamix": "optax.contrib:ademamix",
    "optax/adopt": "optax.contrib:adopt",
    "optax/cocob": "optax.contrib:cocob",
    "optax/dadapt_adamw": "optax.contrib:dadapt_adamw",
    "optax/dog": "optax.contrib:dog",
    "optax/dowg": "optax.contrib:dowg",
    "optax/madgrad": "optax.contrib:madgrad",
    "optax/momo": "optax.contrib:momo",
    "optax/momo_adam": "optax.contrib:momo_adam",
    "optax/muon": "optax.contrib:muon",
    "optax/prodigy": "optax.contrib:prodigy",
    "optax/schedule_free_adamw": "optax.contrib:schedule_free_adamw",
    "optax/schedule_free_sgd": "optax.contrib:schedule_free_sgd",
    "optax/sophia": "optax.contrib:sophia",
}


def register_part(name: str, part: Any) -> None:
    """Add a class or function of your own, under `family/name`, to what specifications can name and read back.

    Raises:
      InputError: when the name is taken or malformed, or the part is neither class nor function.
    """
    registry.register_part(PARTS, name, part)


class Names(Mapping[str, Any]):
    """Name to class or function of all tables, with what was registered since; imported when it is looked up.

    Raises:
      InputError: when one name was given to two things.
    """

    def __init__(self) -> None:
        from jaxbandits.algorithms import ALGORITHMS
        from jaxbandits.environments import ENVIRONMENTS

        tables = (ALGORITHMS, ENVIRONMENTS, PARTS)
        self._tables = ChainMap[str, Any](*tables)
        if len(self._tables) < sum(map(len, tables)):
            name = next(name for name in self._tables if sum(name in table for table in tables) > 1)
            raise InputError(f"the name {name!r} was registered twice, for things of different kinds")

    def __getitem__(self, name: str) -> Any:
        found = self._tables[name]
        if isinstance(found, Entry):
            return found.cls
        return lazy.load(found) if isinstance(found, str) else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def name_of(obj: Any) -> str | None:
    """Return the name of a class or function; None if it has none."""
    for name, part in PARTS.items():
        if part is obj or (isinstance(part, str) and _loaded(part) is obj):
            return name
    for room in ("algorithms", "environments"):
        table = sys.modules.get(f"jaxbandits.{room}.registry")  # loaded by whoever registers
        rows = {} if table is None else getattr(table, room.upper()).data
        for name, entry in rows.items():
            if isinstance(entry, Entry) and entry.cls is obj:
                return name
        family, _, file = str(getattr(obj, "__module__", None)).removeprefix(f"jaxbandits.{room}.").rpartition(".")
        if family in FAMILIES and getattr(obj, "__qualname__", "").lower() == file.replace("_", ""):
            return f"{family}/{file}"
    return None


def _loaded(place: str) -> Any:
    module, _, name = place.partition(":")
    return vars(sys.modules[module]).get(name) if module in sys.modules else None


def to_spec(obj: Any, data: MutableMapping[str, np.ndarray] | None = None) -> Any:
    """Return the JSON value that names an object (`base.spec.to_spec` with all names).

    Example:
      >>> from jaxbandits import OFUL
      >>> to_spec(OFUL(dim=2, ridge=0.5))["type"]
      'linear/oful'
    """
    return spec.to_spec(obj, name_of, data)


def from_spec(value: Any, data: Mapping[str, np.ndarray] | None = None, where: str = "spec") -> Any:
    """Return the object that a JSON value names (`base.spec.from_spec` with all names).

    Example:
      >>> from_spec({"type": "linear/oful", "dim": 2, "ridge": 0.5}).ridge
      0.5
    """
    return spec.from_spec(value, Names(), data, where)
