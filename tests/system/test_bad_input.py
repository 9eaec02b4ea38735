"""Mistakes of a user in Python: one clear line each, before anything runs."""

import dataclasses
import inspect
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxbandits import (
    OFUL,
    Entry,
    HeavyTailed,
    HvtUCB,
    InputError,
    Reward,
    catalogue,
    compare,
    noise,
    pytree,
    register_algorithm,
    register_environment,
    simulate,
    sweep,
)
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.armed import KLUCB
from jaxbandits.base import ranges
from jaxbandits.base.pytree import is_static, named_constructors, validate
from jaxbandits.coco import OFWTVC
from jaxbandits.domains import Box, CappedSimplex, Polytope
from jaxbandits.dro import Custom, Groups
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.environments.datasets.covertype import clusters, covertype_like
from jaxbandits.environments.datasets.ratings import low_rank_ratings
from jaxbandits.environments.oco import sequences
from jaxbandits.estimation import detectors, oracles
from jaxbandits.glm import load_covertype
from jaxbandits.linear import HvtEstimator
from jaxbandits.oco import CAOONS, OGD, AnytimeCAOONS, LinearLosses, OptaxLearner, load_csv, load_libsvm
from jaxbandits.operators import Given, TableDelay
from tests.bad_values import NO_NUMBERS, WRONG, outcome
from tests.reward_models import MODELS

ENV = HeavyTailed(dim=2, n_arms=5)


@pytest.mark.parametrize(
    ("algorithm", "environment", "message"),
    [
        (HvtUCB(dim=2, horizon=100, eps=1.49), ENV, r"HvtUCB.eps must lie in \(0, 1\], got 1.49"),
        (HvtUCB(dim=2, horizon=100, eps=0.0), ENV, r"HvtUCB.eps must lie in \(0, 1\]"),
        (HvtUCB(dim=2, horizon=100, delta=0), ENV, r"HvtUCB.delta must lie in \(0, 1\), got 0"),
        (HvtUCB(dim=2, horizon=0), ENV, r"HvtUCB.horizon must lie in \[1, inf\)"),
        (HvtUCB(dim=2, horizon=100, ridge=-1.0), ENV, "HvtUCB.ridge must lie in"),
        (HvtUCB(dim=2.0, horizon=100), ENV, "HvtUCB.dim must be a whole number"),
        (OFUL(dim=3), ENV, "OFUL has dim=3, but the environment has dim=2"),
        (OFUL(dim=2), HeavyTailed(dim=2, n_arms=5, available=9), "available must lie in"),
        (OFUL(dim=2), HeavyTailed(dim=2, n_arms=5, noise=noise.StudentT(df=1.5), eps=0.99), "eps must lie below 0.5"),
        (OFUL(dim=2), HeavyTailed(dim=2, n_arms=3, arms=np.zeros(3)), "arms"),
        (OFUL(dim=2), LinearLosses(dim=2), "OFUL does not run on LinearLosses: AttributeError"),
        (
            OFUL(dim=2),
            LinearLosses(dim=2),
            r"; check_algorithm\(learner, environment, quick=True\) may name the method",
        ),
        (OFUL(dim=2, ridge=[0.1, 1.0]), ENV, r"; OFUL.ridge is a list, \[0.1, 1.0\]: a grid runs several values"),
        (OFUL(dim=2, ridge=(0.1, 1.0)), ENV, r"[^.]; OFUL.ridge is a tuple, \(0.1, 1.0\): a grid runs several values"),
    ],
)
def test_one_line_says_what_is_wrong_and_what_is_allowed(algorithm, environment, message):
    with pytest.raises(InputError, match=message) as error:
        simulate(algorithm, environment, 10, 2, progress=False)
    assert "\n" not in str(error.value)


@pytree
class _Failing(OFUL):
    error: ClassVar[Exception] = ValueError()

    def select(self, key, t, state, obs):
        raise self.error


@pytest.mark.parametrize(("error", "message"), [
    (ValueError("x" * 400), r": ValueError: x{300} \.\.\.; check_algorithm"),
    (ValueError("word " * 90), r": ValueError: (word ){59}word \.\.\.; check_algorithm"),
    (KeyError(), ": KeyError; check_algorithm"),
    (NotImplementedError("later"), ": NotImplementedError: later; check_algorithm"),
    (MemoryError("no room"), ": MemoryError: no room$"),
])  # fmt: skip
def test_errors_of_other_code_keep_their_text(monkeypatch, error, message):
    monkeypatch.setattr(_Failing, "error", error)
    with pytest.raises(InputError, match=f"_Failing does not run on HeavyTailed{message}"):
        simulate(_Failing(dim=2), ENV, 10, 2, progress=False)


class _PlainClass:
    feedback: ClassVar[type] = Reward
    init = select = update = lambda *_: None


@pytree
class _NoFeedback:
    init = select = update = lambda *_: None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simulate(_PlainClass(), ENV, 10, 2), "got _PlainClass, whose class is not decorated with @pytree$"),
        (lambda: simulate(_NoFeedback(), ENV, 10, 2), "got _NoFeedback, which has no feedback$"),
        (lambda: simulate(None, ENV, 10, 2), "with init, select, update, feedback; got NoneType$"),
        (lambda: simulate(ENV, OFUL(dim=2), 10, 2), "is an environment: the algorithm comes first"),
        (lambda: compare(OFUL(dim=2), ENV, 10, 2), r"a mapping from labels .*, or a list of algorithms \(`simulate`"),
        (lambda: sweep(OFUL(dim=2), ENV, 10, 2, grid={"noise.spread": [1.0]}),
         "OFUL has no field 'noise.spread', but HeavyTailed has it: write 'environment.noise.spread'"),
        (lambda: sweep(OFUL(dim=2), ENV, 10, 2, grid={"environment.ridge": [1.0]}),
         "HeavyTailed has no field 'ridge', but OFUL has it: write 'ridge'"),
        (lambda: sweep({"a": OFUL(dim=2), "b": HvtUCB(dim=2, horizon=9)}, ENV, 10, 2, grid={"tau_scale": [1.0]}),
         "OFUL has no field 'tau_scale'"),
        (lambda: simulate(OptaxLearner(dim=2, make=optax.adam(1e-2)), LinearLosses(dim=2), 10, 2),
         r"make=optax.adam and hyperparameters=\{'learning_rate': 0.01\} instead of make=optax.adam\(0.01\)"),
    ],
)  # fmt: skip
def test_a_natural_mistake_is_told_what_was_meant(call, message):
    with pytest.raises(InputError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


def test_arms_of_the_wrong_shape():
    with pytest.raises(InputError, match=r"arms must .*\(K, d\)"):
        HeavyTailed.from_arms(np.ones(4), np.ones(4))
    with pytest.raises(InputError, match=r"theta"):
        HeavyTailed.from_arms(np.eye(3), np.ones(2))
    with pytest.warns(UserWarning, match="outside the unit ball"):
        HeavyTailed.from_arms(2.0 * np.eye(3), np.ones(3) / 3.0)


def test_an_algorithm_on_a_foreign_environment_is_refused_before_it_runs():
    with pytest.raises(InputError, match="con"):
        simulate(OFWTVC.theory(dim=2, horizon=10), LinearLosses(dim=2), 10, 2, progress=False)


# Every field, preset and loader with every wrong value ----------------------------------------------------

PARTS = {
    "domain/box": Box(dim=2),
    "domain/capped_simplex": CappedSimplex(dim=3),
    "domain/polytope": Polytope(vertices=np.eye(2)),
    "sequence/corrupted": sequences.IsolatedFlips(horizon=100),
    "sequence/drift": sequences.Drift(horizon=100),
    "sequence/piecewise": sequences.Piecewise.equal_segments(np.eye(2), 10),
    "estimator/hvt": HvtEstimator(dim=2, horizon=10),
    "group_loss/custom": Custom(function=jnp.vdot),
    "drift/given": Given(path=np.ones((3, 2))),
    **MODELS,
    "detector/glr": detectors.GLR(horizon=10),
    "detector/oracle": detectors.Oracle.from_phases(np.full((2, 3), 0.5), [0, 9]),
    "delay/table": TableDelay(probabilities=np.array([0.5, 0.0, 1.0])),
    "oracle/layered_paths": oracles.LayeredPaths.complete(n_nodes=2, length=3),
    "oracle/partition": oracles.Partition(blocks=2, block_size=3),
    "oracle/top_m": oracles.TopM(size=2),
}
OBJECTS = {name: entry.example for name, entry in (ALGORITHMS | ENVIRONMENTS).items()} | {
    name: PARTS.get(name) or part()
    for name, part in ((name, catalogue.Names()[name]) for name in catalogue.PARTS)
    if dataclasses.is_dataclass(part) and name not in ("data/table", "data/rows")
}
# Fields without a declared range: names, and arguments of an optax transformation, which checks them itself.
ALSO_FINE = {
    "glm/covertype.dataset": {"text"}, "dro/group_data.dataset": {"text"}, "oco/optax_learner.options": {"dict"},
    "group_loss/custom.function": {"function", "class"}, "model/network.hidden": {"empty"},
    "model/langevin_network.hidden": {"empty"}, "model/subspace_network.hidden": {"empty"},
    "optimizer/optax.options": {"dict"},
}  # fmt: skip


def inside(value, allowed):
    """Return whether all entries lie in an interval, in the precision of this process; independent of the library."""
    low, high = (float(end) for end in allowed[1:-1].split(","))
    with np.errstate(over="ignore"):
        held = np.asarray(value).astype(jnp.result_type(float))
    if (np.isinf(held) & np.isfinite(np.asarray(value))).any():
        return False
    above = held >= low if allowed[0] == "[" else held > low
    below = held <= high if allowed[-1] == "]" else held < high
    return bool(held.size and (above & below).all())


def may_pass(name, field, wrong):
    """Return whether the declaration of a field allows a value."""
    value, allowed = WRONG[wrong], field.metadata.get("range")
    if wrong in ALSO_FINE.get(f"{name}.{field.name}", ()):
        return True
    if value is None:
        return field.default is None
    if allowed == ranges.BOOL:
        return value is True
    if wrong in NO_NUMBERS or wrong in ("ragged", "dict", "empty", "flag"):
        return allowed is None and field.default is None and wrong not in NO_NUMBERS  # an object: its user checks it
    if allowed is None:
        return field.default is None and not is_static(field)
    whole = np.issubdtype(np.asarray(value).dtype, np.integer) and np.ndim(value) == 0
    return inside(value, allowed) and (whole or not is_static(field))


@pytest.mark.parametrize("name", sorted(OBJECTS))
def test_a_field_takes_what_it_declares_and_refuses_the_rest_in_one_line(name):
    obj = OBJECTS[name]
    for field in dataclasses.fields(obj):
        for wrong in WRONG:
            label = f"{name}.{field.name} = {wrong}"
            try:
                text = outcome(
                    lambda value, field=field: validate(dataclasses.replace(obj, **{field.name: value})), wrong
                )
            except Exception as error:
                if may_pass(name, field, wrong) and field.metadata.get("range") is None:
                    continue
                raise AssertionError(label) from error
            if text is None:
                assert may_pass(name, field, wrong), f"{label} is accepted in silence"
            elif not may_pass(name, field, wrong) and name != "oco/optax_learner":  # which passes on what optax says
                assert field.name in text, f"{label}: {text}"


GIVEN = {
    "arms": np.eye(3), "budgets": (4, 2, 6), "capacity": 64, "changes": 3, "curvature": 0.5, "dim": 2, "eps": 0.99,
    "features": np.eye(2), "gap": 0.2, "horizon": 200, "k": 2, "lipschitz": 2.0,
    "made": clusters(covertype_like(100), 3),
    "frame": {"a": [0, 1], "r": [0.5, 1.0]}, "action": "a", "label": "a", "target": "r",
    "index": [0, 1, 0], "labels": ["a", "b"], "n_arms": 5, "n_experts": 4, "n_groups": 4, "n_inputs": 1, "n_states": 2,
    "means": np.array([0.2, 0.5, 0.9]), "model": MODELS["model/ridge"], "moment_bound": 2.0,
    "norm_bound": 2.0, "oracle": OGD(dim=10), "regret": 5.0,
    "starts": np.array([0, 9]), "ratings": low_rank_ratings((20, 8), 120), "reward": np.ones(3),
    "rewards": np.eye(2), "shared_dim": 2, "steps": 2,
    "table": Groups(np.eye(2), np.array([0.0, 1.0]), np.arange(2), ("a", "b")),
    "targets": np.array([1.0, -1.0]), "theta": np.ones(3) / 3, "variance_bound": 2.0, "variation": 3.0,
    "vectors": np.eye(2), "policy": KLUCB(n_arms=5), "n_items": 6, "list_size": 2, "n_players": 2,
    "attraction": np.array([0.2, 0.5, 0.9]), "preferences": np.full((2, 2), 0.5),
    "examination": np.array([0.9, 0.4]), "n_paths": 3, "length": 2, "n_nodes": 2,
}  # fmt: skip
KEEPS_ROUNDS = ("ada_ofu_ecolog", "glm_ucb", "ofuglb", "ofulog_r", "rs_glincb")
FURTHER = {f"glm/{name}": {"n_arms": 5} for name in KEEPS_ROUNDS} | {"glm/covertype": {"n_arms": 3, "rows": 100}}
FURTHER |= {"data/logged_replay.from_log": {"reward": np.ones(3), "n_arms": 5}}
FURTHER |= {"data/logged_replay.from_frame": {"reward": "r"}}
FURTHER |= {f"{name}.from_frame": {"features": ["r"]} for name in ("data/table_bandit", "oco/data_stream")}
FURTHER["data/mushroom_bandit.from_table"] = {"poisonous": "b"}
FURTHER |= {f"combinatorial/{name}": {"oracle": oracles.TopM(size=2)}
            for name in ("comb_ucb1", "cts", "full_bandit_ts", "semi_bandit.from_means")}  # fmt: skip
FURTHER |= {"detector/oracle.from_phases": {"means": np.full((2, 3), 0.5)}}
FURTHER |= {"armed/switching_arms.from_phases": {"means": np.full((2, 3), 0.5)}}
FURTHER |= {name: {"dim": 2} for name in ALGORITHMS if name.startswith("dro/")}


def _presets():
    for name, cls in sorted(catalogue.Names().items()):
        for method, preset in named_constructors(cls).items() if isinstance(cls, type) else ():
            if method != "from_file":
                yield pytest.param(name, preset, id=f"{name}.{method}")


@pytest.mark.parametrize(("name", "preset"), list(_presets()))
def test_a_preset_refuses_in_one_line_what_its_class_would(name, preset):
    parameters = [p for p in inspect.signature(preset).parameters.values() if p.kind is not p.VAR_KEYWORD]
    if preset.__name__ in ("theory", "practical") and preset.__name__ not in vars(preset.__self__):
        # Inherited, it takes the fields of the class: those required.
        parameters = [p for p in inspect.signature(preset.__self__).parameters.values() if p.default is p.empty]
    further = FURTHER.get(name, {}) | FURTHER.get(f"{name}.{preset.__name__}", {})
    given = {p.name: GIVEN[p.name] for p in parameters if p.default is p.empty}
    given |= further if "made" not in given else {}
    validate(preset(**given))
    for parameter in parameters:
        for wrong in WRONG:
            if parameter.default is None and WRONG[wrong] is None:
                continue
            label = f"{parameter.name} = {wrong}"
            text = outcome(lambda value, p=parameter: validate(preset(**given | {p.name: value})), wrong)
            if text is None:  # numbers that the theory takes: 0, 2.5, an array to sweep over, ...
                is_any_number = (name, preset.__name__, parameter.name) == ("armed/noisy_arms", "from_gap", "best")
                is_fine = wrong in ("zero", "fraction", "shape", "inf", "huge") or (
                    is_any_number and wrong == "negative"
                )
                assert is_fine or name == "oco/optax_learner", label
                assert wrong not in NO_NUMBERS, label
            else:
                assert parameter.name in text or name == "oco/optax_learner", f"{label}: {text}"


FILE = "1,2,3\n4,5,6\n"


@pytest.mark.parametrize(
    ("function", "argument", "fine"),
    [
        (load_csv, "path", ()),
        (load_csv, "target", ("zero",)),
        (load_csv, "delimiter", ()),
        (load_csv, "header", ("flag",)),
        (load_csv, "standardise", ("flag",)),
        (load_csv, "intercept", ("flag",)),
        (load_libsvm, "path", ()),
        (load_libsvm, "n_features", ("None",)),
        (load_libsvm, "standardise", ("flag",)),
        (load_libsvm, "intercept", ("flag",)),
        (load_covertype, "path", ()),
        (load_covertype, "rewarded", ()),
    ],
)
@pytest.mark.filterwarnings("ignore:.*names in the first row are numbers")
def test_loaders_refuse_in_one_line(tmp_path, function, argument, fine):
    path = tmp_path / "table"
    path.write_text("1 1:2\n2 2:3\n" if function is load_libsvm else FILE)
    given = {"path": path, **({"header": False} if function is load_csv else {})}
    for wrong in WRONG:
        text = outcome(lambda value: function(**given | {argument: value}), wrong)
        assert (text is None) == (wrong in fine), f"{argument} = {wrong}: {text}"
        assert text is None or argument in text or "cannot read x" in text or "table" in text, text


@pytest.mark.parametrize(
    ("register", "taken"),
    [
        (register_algorithm, "linear/oful"),
        (register_environment, "linear/heavy_tailed"),
        (catalogue.register_part, "link/poisson"),
    ],
)
def test_registries_refuse_what_is_no_entry(register, taken):
    known = dict(catalogue.Names())
    for wrong in set(WRONG) - {"class", "function"}:
        assert outcome(lambda value: register("my/name", value), wrong), wrong
    for wrong in WRONG:
        assert outcome(lambda value: register(value, Entry(type(ENV), ENV, "source")), wrong), wrong
    for name in ("noslash", "a/b/c", "/x", "x/", taken):
        with pytest.raises(InputError, match="name"):
            register(name, Entry(type(ENV), ENV, "source"))
    with pytest.raises(InputError, match="example"):
        register_algorithm("my/name", Entry(OFUL, ENV, "source"))
    assert catalogue.Names() == known


def test_specifications_refuse_in_one_line():
    for wrong in WRONG:
        if wrong != "tracer":
            outcome(lambda value: catalogue.from_spec({"type": "linear/oful", "dim": value}), wrong)
            outcome(catalogue.from_spec, wrong)


@pytest.mark.parametrize("horizon", [1.5, 0, "x", None, np.nan, 2**200])
def test_a_horizon_that_decides_a_size_is_a_whole_number(horizon):
    for preset in (CAOONS.theory, CAOONS.practical, AnytimeCAOONS.theory):
        with pytest.raises(InputError, match="horizon must"):
            preset(dim=2, horizon=horizon)
