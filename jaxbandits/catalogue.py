"""Catalogue of the classes and functions that a specification may name. This module imports none of them.

`to_spec(OFUL(dim=2))` is `{"type": "linear/oful", "dim": 2, "noise_scale": 1.0, ...}`, and
`from_spec({"type": "linear/oful", "dim": 2, "ridge": 0.5})` is `OFUL(dim=2, ridge=0.5)`.

An algorithm or environment is named after its file: `linear/oful` is the class in `algorithms/linear/oful.py`. The
parts of algorithms and environments, such as noise and domains, are listed in `PARTS`; names such as `optax/adam` are
those of functions of `optax` and `optax.contrib`. A class is imported when its name is looked up.
"""

import functools
import importlib
import sys
import warnings
from collections import ChainMap, UserDict
from collections.abc import Container, Iterable, Iterator, Mapping, MutableMapping
from importlib import metadata
from inspect import isfunction
from typing import Any, NamedTuple

import numpy as np

from jaxbandits.base import lazy, spec
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.versions import ENTRY_POINTS

FAMILIES = (
    *("armed", "explore", "contextual", "combinatorial", "duels", "teams", "linear", "glm", "oco", "coco", "dro"),
    *("operators", "data"),
)

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
    "detector/cusum": "jaxbandits.estimation.detectors:CUSUM",
    "detector/glr": "jaxbandits.estimation.detectors:GLR",
    "detector/half_windows": "jaxbandits.estimation.detectors:HalfWindows",
    "detector/oracle": "jaxbandits.estimation.detectors:Oracle",
    "oracle/layered_paths": "jaxbandits.estimation.oracles:LayeredPaths",
    "oracle/partition": "jaxbandits.estimation.oracles:Partition",
    "oracle/top_m": "jaxbandits.estimation.oracles:TopM",
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
    "delay/geometric": "jaxbandits.environments.operators.random_delay:GeometricDelay",
    "delay/table": "jaxbandits.environments.operators.random_delay:TableDelay",
    "delay/uniform": "jaxbandits.environments.operators.random_delay:UniformDelay",
    "drift/piecewise": "jaxbandits.environments.operators.drifting:PiecewiseDrift",
    "drift/random_walk": "jaxbandits.environments.operators.drifting:RandomWalk",
    "drift/given": "jaxbandits.environments.operators.drifting:Given",
    "data/log": "jaxbandits.environments.data.logged_replay:Events",
    "data/mushroom_table": "jaxbandits.environments.data.mushroom_bandit:MushroomTable",
    "data/reward_table": "jaxbandits.environments.data.table_bandit:RewardTable",
    "data/trace": "jaxbandits.environments.data.recorded_trace:Trace",
    "data/observed": "jaxbandits.environments.coco.matrix_completion:Observed",
    "group_loss/logistic": "jaxbandits.environments.dro.group_losses:Logistic",
    "group_loss/squared": "jaxbandits.environments.dro.group_losses:Squared",
    "group_loss/hinge": "jaxbandits.environments.dro.group_losses:Hinge",
    "group_loss/custom": "jaxbandits.environments.dro.group_losses:Custom",
    "data/change_points": "jaxbandits.estimation.detectors:ChangePoints",
    "data/rows": "jaxbandits.environments.dro.group_data:Rows",
    "data/phases": "jaxbandits.environments.armed.switching_arms:Phases",
    "data/table": "jaxbandits.environments.oco.data_stream:Table",
    "estimator/one_point": "jaxbandits.algorithms.coco.one_point:OnePoint",
    "estimator/two_point": "jaxbandits.algorithms.coco.two_point:TwoPoint",
    "estimator/hvt": "jaxbandits.algorithms.linear.hvt_estimator:HvtEstimator",
    # Parts of a contextual `Bandit`.
    "model/ensemble": "jaxbandits.estimation.models.ensemble:Ensemble",
    "model/doubling_epochs": "jaxbandits.estimation.models.doubling_epochs:DoublingEpochs",
    "model/gaussian_process": "jaxbandits.estimation.models.gaussian_process:GaussianProcess",
    "model/hybrid": "jaxbandits.estimation.models.hybrid:Hybrid",
    "model/intercept": "jaxbandits.estimation.models.intercept:Intercept",
    "kernel/squared_exponential": "jaxbandits.estimation.models.kernels:SquaredExponential",
    "kernel/matern52": "jaxbandits.estimation.models.kernels:Matern52",
    "kernel/matern32": "jaxbandits.estimation.models.kernels:Matern32",
    "model/langevin_network": "jaxbandits.estimation.models.langevin_network:LangevinNetwork",
    "model/linear": "jaxbandits.estimation.models.linear:Linear",
    "model/logistic_regression": "jaxbandits.estimation.models.logistic_regression:LogisticRegression",
    "model/network": "jaxbandits.estimation.models.network:Network",
    "model/neural_gradient": "jaxbandits.estimation.models.neural_gradient:NeuralGradient",
    "model/neural_linear": "jaxbandits.estimation.models.neural_linear:NeuralLinear",
    "model/normal_inverse_gamma": "jaxbandits.estimation.models.normal_inverse_gamma:NormalInverseGamma",
    "model/oracle": "jaxbandits.estimation.models.oracle_model:OracleModel",
    "model/per_arm": "jaxbandits.estimation.models.per_arm:PerArm",
    "model/random_features": "jaxbandits.estimation.models.random_features:RandomFeatures",
    "model/ridge": "jaxbandits.estimation.models.ridge:Ridge",
    "model/subspace_network": "jaxbandits.estimation.models.subspace_network:SubspaceNetwork",
    "optimizer/optax": "jaxbandits.estimation.optimizer:Optimizer",
    "rule/elimination": "jaxbandits.algorithms.contextual.rules.elimination:Elimination",
    "rule/eps_greedy": "jaxbandits.algorithms.contextual.rules.eps_greedy:EpsGreedy",
    "rule/expected_improvement": "jaxbandits.algorithms.contextual.rules.expected_improvement:ExpectedImprovement",
    "rule/falcon": "jaxbandits.algorithms.contextual.rules.falcon:FALCON",
    "rule/gp_ts": "jaxbandits.algorithms.contextual.rules.gp_ts:GPTS",
    "rule/gp_ucb": "jaxbandits.algorithms.contextual.rules.gp_ucb:GPUCB",
    "rule/greedy": "jaxbandits.algorithms.contextual.rules.greedy:Greedy",
    "rule/ids": "jaxbandits.algorithms.contextual.rules.ids:IDS",
    "rule/igp_ucb": "jaxbandits.algorithms.contextual.rules.igp_ucb:IGPUCB",
    "rule/knowledge_gradient": "jaxbandits.algorithms.contextual.rules.knowledge_gradient:KnowledgeGradient",
    "rule/softmax": "jaxbandits.algorithms.contextual.rules.softmax:Softmax",
    "rule/square_cb": "jaxbandits.algorithms.contextual.rules.square_cb:SquareCB",
    "rule/thompson": "jaxbandits.algorithms.contextual.rules.thompson:Thompson",
    "rule/ucb": "jaxbandits.algorithms.contextual.rules.ucb:UCB",
    "rule/vids": "jaxbandits.algorithms.contextual.rules.vids:VIDS",
    "optax/decaying_sgd": "jaxbandits.algorithms.oco.optax_learner:decaying_sgd",
    "optax/dog_from_distance": "jaxbandits.algorithms.oco.optax_learner:dog_from_distance",
    "optax/dowg_from_distance": "jaxbandits.algorithms.oco.optax_learner:dowg_from_distance",
    "optax/mechanized_sgd": "jaxbandits.algorithms.oco.optax_learner:mechanized_sgd",
}
_OPTAX = "optax/"  # prefix of the names of functions of optax that make a gradient transformation
_OPTAX_MODULES = ("optax", "optax.contrib")


class Entry(NamedTuple):
    """Registered class, with the information that tools need to list and check it.

    Attributes:
      cls: the class.
      example: a small concrete instance that the contract tests run.
      source: paper or other origin, in one line.
      environments: names of the environments whose examples fit the `example` of an algorithm; empty for environments.
    """

    cls: type
    example: Any
    source: str
    environments: tuple[str, ...] = ()

    @classmethod
    def from_class(cls, registered: Any) -> "Entry":
        """Return the entry of a class, which must have the attribute `source` and the class method `example`.

        An algorithm may also have the attribute `environments`.
        """
        environments = getattr(registered, "environments", ())
        return cls(cls=registered, example=registered.example(), source=registered.source, environments=environments)


class Registry(UserDict[str, Entry]):
    """Lazy mapping from name to entry: a class is imported, and its example made, on first access.

    Args:
      entries: mapping from names to entries, or to the import paths `module:name` of classes.
      room: package, such as `jaxbandits.algorithms`, whose family packages list further classes. It is also the name of
        the entry-point group in which other installed packages declare classes. Both are searched on first access;
        with "", neither is.
    """

    def __init__(self, entries: Mapping[str, Entry | str] | None = None, room: str = "") -> None:
        self._rows: dict[str, Any] = dict(entries or {})
        self._room = room

    @property
    def data(self) -> dict[str, Any]:
        """Mapping from names to entries; a class that is not imported yet is given by its import path `module:name`."""
        if self._room:
            room, self._room = self._room, ""  # cleared first, since an entry point may register classes itself
            self._rows |= places(room, FAMILIES)
            discover(self, room)
        return self._rows

    def __getitem__(self, name: str) -> Entry:
        entry = self.data[name]
        if isinstance(entry, str):
            entry = self.data[name] = Entry.from_class(lazy.load(entry))
        return entry

    def registered_name(self, cls: object) -> str | None:
        """Return the name under which an imported entry has the class `cls`; None if no imported entry has it."""
        rows = self._rows.items()
        return next((name for name, entry in rows if isinstance(entry, Entry) and entry.cls is cls), None)


def places(room: str, families: Iterable[str]) -> dict[str, str]:
    """Map `family/file` to the import path `module:name`, for each class that the family packages of a package list."""
    packages = [f"{room}.{family}" for family in families if lazy.exists(f"{room}.{family}")]
    listed = [place for package in packages for place in lazy.declared_imports(package).values()]
    return {place.partition(":")[0].removeprefix(f"{room}.").replace(".", "/"): place for place in listed}


def discover(registry: MutableMapping[str, Entry], group: str) -> None:
    """Add to a registry the entries that installed packages declare as entry points `family.name` in a group.

    An entry point that cannot be loaded is left out with a warning, because a broken package must not break jaxbandits.
    """
    for point in metadata.entry_points(group=group):
        try:
            _register(registry, point.name.replace(".", "/", 1), point.load())
        except Exception as error:  # the import of another package may raise anything
            owner = "" if point.dist is None else f" of {point.dist.name}"
            reason = " ".join(str(error).split())[:200]
            warnings.warn(f"entry point {point.name}{owner} is skipped: {type(error).__name__}: {reason}", stacklevel=2)


ALGORITHMS = Registry(room=ENTRY_POINTS[0])
ENVIRONMENTS = Registry(room=ENTRY_POINTS[1])


def register_algorithm(name: str, entry: Entry) -> None:
    """Register your own algorithm under the name `family/name`, which specifications and commands then accept.

    Raises:
      InputError: if the name is taken or is not of the form `family/name`, or if `entry` is not a valid `Entry`.
    """
    _register(ALGORITHMS, name, entry)


def register_environment(name: str, entry: Entry) -> None:
    """Register your own environment under the name `family/name`, which specifications and commands then accept.

    Raises:
      InputError: if the name is taken or is not of the form `family/name`, or if `entry` is not a valid `Entry`.
    """
    _register(ENVIRONMENTS, name, entry)


def register_part(name: str, part: object) -> None:
    """Register a class or function that your algorithms or environments have as a part, under the name `family/name`.

    Raises:
      InputError: if the name is taken or is not of the form `family/name`, or if `part` is neither a class nor a
        function.
    """
    _check_name(PARTS, name)
    if not callable(part) or not hasattr(part, "__qualname__"):
        raise InputError(f"part must be a class or a function, got {format_value(part)}")
    PARTS[name] = part


def _register(registry: MutableMapping[str, Entry], name: str, entry: Entry) -> None:
    _check_name(registry, name)
    if not isinstance(entry, Entry):
        raise InputError(f"entry must be an Entry(cls, example, source), got {format_value(entry)}")
    if not isinstance(entry.cls, type) or not isinstance(entry.example, entry.cls):
        raise InputError(
            f"entry.cls must be a class and entry.example an instance of it, got {format_value(entry.cls)}"
        )
    if not isinstance(entry.source, str) or not isinstance(entry.environments, tuple):
        raise InputError("entry.source must be text and entry.environments a tuple of names")
    registry[name] = entry


def _check_name(table: Container[str], name: object) -> None:
    if not isinstance(name, str) or name.count("/") != 1 or not all(name.split("/")):
        raise InputError(f"name must have the form 'family/name', got {format_value(name)}")
    if name in table:
        raise InputError(f"name {name!r} is registered already")


class Names(Mapping[str, Any]):
    """Mapping from every name to its class or function, which is imported on access.

    Raises:
      InputError: if a name is registered in more than one of the tables of algorithms, environments and parts.
    """

    def __init__(self) -> None:
        tables = (ALGORITHMS, ENVIRONMENTS, PARTS)
        self._tables = ChainMap[str, Any](*tables)
        if len(self._tables) < sum(map(len, tables)):
            name = next(name for name in self._tables if sum(name in table for table in tables) > 1)
            raise InputError(f"the name {name!r} was registered twice, for entries of different kinds")

    def __getitem__(self, name: str) -> Any:
        if name not in self._tables and isinstance(name, str) and name.startswith(_OPTAX):
            return optax_functions()[name]
        found = self._tables[name]
        if isinstance(found, Entry):
            return found.cls
        return lazy.load(found) if isinstance(found, str) else found

    def __iter__(self) -> Iterator[str]:
        return iter({**dict.fromkeys(self._tables), **optax_functions()})

    def __len__(self) -> int:
        return sum(1 for _ in self)


@functools.cache
def optax_functions() -> Mapping[str, Any]:
    """Map names such as `optax/adam` to the public functions of `optax` and `optax.contrib`; aliases are left out."""
    modules = [importlib.import_module(name) for name in reversed(_OPTAX_MODULES)]  # a name in both is that of optax
    members = {name: value for module in modules for name, value in vars(module).items() if not name.startswith("_")}
    return {
        f"{_OPTAX}{name}": value
        for name, value in members.items()
        if _is_function_of_optax(value) and getattr(value, "__name__", name) == name
    }


def _is_function_of_optax(value: object) -> bool:
    function = getattr(value, "func", value)  # optax.nadam is a functools.partial
    return isfunction(function) and function.__module__.startswith("optax.")


def name_of(obj: object) -> str | None:
    """Return the registered name of a class or function, or None if it has none; nothing is imported."""
    for name, part in PARTS.items():
        if part is obj or (isinstance(part, str) and _load(part) is obj):
            return name
    if "optax" in sys.modules and _is_function_of_optax(obj):
        return next((name for name, function in optax_functions().items() if function is obj), None)
    for room, registry in zip(ENTRY_POINTS, (ALGORITHMS, ENVIRONMENTS), strict=True):
        if (name := registry.registered_name(obj)) is not None:
            return name
        family, _, file = str(getattr(obj, "__module__", None)).removeprefix(f"{room}.").rpartition(".")
        if family in FAMILIES and getattr(obj, "__qualname__", "").lower() == file.replace("_", ""):
            return f"{family}/{file}"
    return None


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return vars(sys.modules[module]).get(name) if module in sys.modules else None


def to_spec(obj: object, data: MutableMapping[str, np.ndarray] | None = None) -> Any:
    """Return the JSON value that specifies an object; see `jaxbandits.base.spec` for the format.

    Args:
      obj: an algorithm, an environment, or a part of one.
      data: mapping to which large arrays are added under their digests; None: only their digests are kept.

    Example:
      >>> from jaxbandits import OFUL
      >>> to_spec(OFUL(dim=2, ridge=0.5))["type"]
      'linear/oful'
    """
    return spec.to_spec(obj, name_of, data)


def from_spec(value: object, data: Mapping[str, np.ndarray] | None = None, where: str = "spec") -> Any:
    """Return the object that a JSON value specifies, the inverse of `to_spec`.

    Args:
      value: the JSON value.
      data: mapping from digests to large arrays, as `to_spec` fills it.
      where: place of the value, for error messages.

    Raises:
      InputError: if the value specifies no valid object.

    Example:
      >>> from_spec({"type": "linear/oful", "dim": 2, "ridge": 0.5}).ridge
      0.5
    """
    return spec.from_spec(value, Names(), data, where)
