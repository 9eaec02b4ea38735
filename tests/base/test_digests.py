"""Digests of code: a user's class is told apart by what it computes, and a resume by all that determines numbers."""

import dataclasses
import functools
import importlib.util
import json
import math
import os
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxbandits import catalogue
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.base import digests
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import param, pytree, static
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.simulation.meters import Meter


@pytree
class Mine:
    """A user's class."""

    dim: int = static(range="[1, inf)")
    scale: float = param(1.0, "(0, inf)")


def test_a_users_class_is_named_with_its_code_and_read_back_once_registered(monkeypatch):
    value = catalogue.to_spec(Mine(dim=2))
    assert value["type"] == f"{__name__}:Mine"
    assert value["code"]
    with pytest.raises(InputError, match="is not registered; register it"):
        catalogue.from_spec(value)
    monkeypatch.setattr(catalogue, "PARTS", dict(catalogue.PARTS))
    catalogue.register_part("my/part", Mine)
    copied = catalogue.from_spec(json.loads(json.dumps(catalogue.to_spec(Mine(dim=3)))))
    assert type(copied) is Mine and vars(copied) == vars(Mine(dim=3))
    with pytest.raises(InputError, match="registered already"):
        catalogue.register_part("my/part", Mine)


def digest_of(measure):
    return digests.digest(catalogue.to_spec(Meter("m", measure)))


def _of(scale):
    return Meter("m", lambda r: r.outcome.regret * scale).measure


def test_another_measure_under_the_same_name_differs():
    array = np.ones(3)
    first = [
        lambda r: r.outcome.regret, lambda r: r.outcome.loss, lambda r: 2 * r.outcome.loss, lambda r: 3 * r.state,
        _of(1.0), _of(2.0), _of(array), _of(array + 1), functools.partial(_of, 1), functools.partial(_of, 2),
        lambda r, scale=1: r * scale, lambda r, scale=2: r * scale, lambda r, *, scale=1: r * scale,
        jax.jit(lambda r: r + 1), jax.jit(lambda r: r + 2), jnp.sum, jnp.max, _of(_of(1)), _of(_of(2)),
        HeavyTailed(dim=2, n_arms=5).observe, HeavyTailed(dim=2, n_arms=6).observe, np.sum, optax.sgd, math.sin,
        optax.constant_schedule(1.0), optax.constant_schedule(2.0), [1].__getitem__, [2].__getitem__,
    ]  # fmt: skip
    assert len({digest_of(measure) for measure in first}) == len(first)


def test_the_same_measure_made_again_is_the_same():
    assert digest_of(_of(2.0)) == digest_of(_of(2.0))
    assert digest_of(_of(np.ones(3))) == digest_of(_of(np.ones(3)))
    assert digest_of(functools.partial(_of, 1)) == digest_of(functools.partial(_of, 1))


def test_what_a_class_holds_is_part_of_it():
    """Also what `python -c` or a prompt defines, where there is no file to read."""

    def of(text):
        names = {"jnp": jnp, "dataclasses": dataclasses, "__name__": __name__}
        exec(f"@dataclasses.dataclass(frozen=True)\nclass Own:\n    SIGN = {text}", names)
        return digests.code_digest(names["Own"])

    texts = ("jnp.ones(2)", "jnp.zeros(2)", "None", "{1, 2}", "{1, 3}", "2j", "b'2'", "1.0")
    assert len({of(text) for text in texts}) == len(texts)
    assert of("jnp.ones(2)") == of("jnp.ones(2)")
    bodies = ("1", "2\n    def mine(self): return 1", "2\n    def mine(self): return 2")
    assert len({of(body) for body in bodies}) == 3


def test_foreign_code_is_found_in_fields_and_containers():
    is_foreign = digests.has_foreign_code
    assert not is_foreign(HeavyTailed(dim=2, n_arms=3), (1, "two", {"three": jnp.ones(3)}), OFUL(dim=2))
    assert is_foreign(Mine(dim=2)) and is_foreign([{"of": Mine}]) and is_foreign(Meter("m", lambda r: r.t))
    assert is_foreign(functools.partial(digest_of, 1)) and is_foreign(optax.sgd(0.1)) and is_foreign(object())


def test_recursive_code_comes_to_an_end():
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    loop = []
    loop.append(loop)
    assert digest_of(even) != digest_of(odd)
    assert digests.code_digest(lambda: loop)


MODULE = """
import dataclasses
import jax
from jaxbandits.base.pytree import pytree, static, param
from {helpers} import helper

FACTOR = 2.0

@pytree
class Learner:
    dim: int = static()
    scale: float = param(1.0)
    def select(self, x):
        return helper(x) * FACTOR

def measure(r):
    return r.outcome.regret * FACTOR
"""


def _load(path, monkeypatch, name, text):
    file = path / f"{name}.py"
    file.write_text(text)
    module_spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(module_spec)
    monkeypatch.setitem(sys.modules, name, module)
    module_spec.loader.exec_module(module)
    return module


def test_a_changed_constant_in_a_users_module_changes_the_digest(tmp_path, monkeypatch):
    helpers = "def helper(x):\n    return x + 1\n"
    text = MODULE.format(helpers="users_helpers")

    def digests_now():
        module = _load(tmp_path, monkeypatch, "users_module", text)
        return digest_of(module.measure), digests.digest(catalogue.to_spec(module.Learner(dim=2)))

    _load(tmp_path, monkeypatch, "users_helpers", helpers)
    first = digests_now()
    assert digests_now() == first
    text = text.replace("FACTOR = 2.0", "FACTOR = 3.0")
    second = digests_now()
    assert not set(first) & set(second)
    _load(tmp_path, monkeypatch, "users_helpers", helpers.replace("+ 1", "+ 2"))
    assert not set(second) & set(digests_now())


LEARNER = '''
from jaxbandits.base.pytree import pytree

@pytree
class Learner:
    def select(self):
        """Play."""
        return 1
'''


def test_comments_and_docstrings_do_not_count(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def digest_with(old, new):
        module = _load(tmp_path, monkeypatch, "users_module", LEARNER.replace(old, new))
        return digests.code_digest(module.Learner)

    first = digest_with("", "")
    for old, new in {"Play.": "Plays an arm.", "return 1": "return 1  # the arm", "\n@": "# ours\n\n@"}.items():
        assert digest_with(old, new) == first, new
    assert digest_with("return 1", "return 2") != first


def test_a_variable_of_another_module_of_the_user_is_part_of_the_code_that_reads_it(tmp_path, monkeypatch):
    helpers = _load(tmp_path, monkeypatch, "users_helpers", "scale = [1.0]\nother = 1.0\n")
    module = _load(tmp_path, monkeypatch, "users_module", "import users_helpers\nof = lambda: users_helpers.scale\n")
    first = digests.code_digest(module.of)
    helpers.other = 2.0
    assert digests.code_digest(module.of) == first
    helpers.scale[0] = 2.0
    assert digests.code_digest(module.of) != first


SCRIPT = """
import sys
from jaxbandits import algorithms, catalogue, environments
from jaxbandits.base.digests import code_digest
from jaxbandits.base.pytree import pytree, static, param
import jax.numpy as jnp
factor = {factor}
@pytree
class Mine:
    dim: int = static()
    scale: float = param(1.0)
    def select(self, x):
        return x * 2.0
print(code_digest(lambda r: jnp.sum(r.outcome.regret) * factor), code_digest(Mine))
"""


def _typed(factor, hash_seed):
    """The digests that a process finds for code without a file."""
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT.format(factor=factor))]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return run.stdout.split()


@pytest.mark.system
def test_code_typed_at_a_prompt_has_one_digest_in_every_process():
    first, again, other = _typed(1.5, "1"), _typed(1.5, "2"), _typed(2.5, "1")
    assert first == again
    assert first[0] != other[0]
    assert first[1] == other[1]


def test_the_package_digest_reads_every_file(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("x = 1")
    monkeypatch.setattr(digests, "_PACKAGE", tmp_path)
    found = set()
    for text in ("x = 1", "x = 2"):
        (tmp_path / "a.py").write_text(text)
        found.add(digests.package_digest.__wrapped__())
    (tmp_path / "b.py").write_text("")
    found.add(digests.package_digest.__wrapped__())
    assert len(found) == 3
