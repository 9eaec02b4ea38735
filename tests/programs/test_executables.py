"""Programs kept on disk: found by what was traced and by everything else they depend on, and by nothing else."""

import contextlib
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache as of_jax

from jaxbandits.base.pytree import pytree
from jaxbandits.engine.meters import Meter
from jaxbandits.programs import compilation, compilation_cache, executables
from jaxbandits.programs.compilation import CompileUnit, ProgramFunction
from jaxbandits.programs.executables import Executables
from jaxbandits.programs.program_identity import identify
from jaxbandits.simulation import simulate
from jaxbandits.tracing import settings
from jaxbandits.tracing.vmap_last import TracedFunction
from tests.toy_problems import Hindsight, Noisy, Shrink

DEVICE = jax.local_devices()[0]
X = jax.ShapeDtypeStruct((3,), np.float32)
needs_owners = pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no numbered owner here")


def double(x):
    return {"twice": 2.0 * x}


def key(function=double, shape=(3,), options=()):
    args = (jax.ShapeDtypeStruct(shape, np.float32, sharding=jax.sharding.SingleDeviceSharding(DEVICE)),)
    trace = TracedFunction.trace(function, *args)
    unit = CompileUnit(
        name="double", function=lambda trace, *args: trace(*args), static_args=(trace,), args=args,
        cpu_options=dict(options), traces=(trace,), width=1, is_foreign=False, out=trace.out,
    )  # fmt: skip
    return ProgramFunction(unit, DEVICE)._key


def test_a_key_holds_all_that_a_program_depends_on(monkeypatch):
    table = np.zeros(5000, np.float32)
    keys = [
        key(),
        key(lambda x: {"twice": x + x}),
        key(shape=(4,)),
        key(options={"xla_backend_optimization_level": 0}),
        key(lambda x: x + table[:3]),
        key(lambda x: x + jnp.asarray(table)[:3]),
        key(lambda x: x + jnp.asarray(table + (np.arange(5000) == 2500))[:3]),  # a repr would elide the difference
    ]
    monkeypatch.setattr(settings, "xla_options", lambda: "other options")
    keys.append(key())
    monkeypatch.undo()
    with jax.default_matmul_precision("highest"):
        keys.append(key(lambda x: jnp.dot(x, x)))
    keys.append(key(lambda x: jnp.dot(x, x)))
    monkeypatch.setattr(compilation, "versions", lambda: {"jaxlib": "another version"})
    keys.append(key())
    monkeypatch.undo()
    monkeypatch.setattr(jax, "local_device_count", lambda: 77)
    keys.append(key())
    monkeypatch.undo()
    assert len(set(keys)) == len(keys)
    assert key() == keys[0]


def test_a_setting_of_jax_is_another_program():
    usual, before = key(), jax.config.jax_default_prng_impl
    try:
        jax.config.update("jax_default_prng_impl", "rbg")
        assert key() != usual
    finally:
        jax.config.update("jax_default_prng_impl", before)


def test_where_the_cache_lies_says_nothing(tmp_path):
    usual, before = key(), jax.config.jax_compilation_cache_dir
    try:
        jax.config.update("jax_compilation_cache_dir", str(tmp_path))
        assert key() == usual
    finally:
        jax.config.update("jax_compilation_cache_dir", before)


@pytest.fixture
def compiling():
    """JAX's cache is off: what was read from it cannot be kept again."""
    before = jax.config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", False)
    of_jax.reset_cache()
    yield
    jax.config.update("jax_enable_compilation_cache", before)
    of_jax.reset_cache()


def compile_function(function=double):
    lowered = jax.jit(function).lower(X)
    return lowered.compile(), identify(lowered, {}).targets


def test_what_is_read_back_is_what_was_saved(tmp_path, compiling):
    kept, x = Executables(tmp_path / "new"), jnp.arange(3.0, dtype=jnp.float32)
    assert kept.load("key", (X,), {"twice": X}, DEVICE) is None
    kept.save("key", *compile_function())
    program = kept.load("key", (X,), {"twice": X}, DEVICE)
    np.testing.assert_array_equal(program(x)["twice"], 2 * np.arange(3.0))
    with pytest.raises(TypeError):  # as any compiled program: for these shapes only
        program(jnp.ones(4, jnp.float32))


def loads(kept, key="key"):
    return kept.load(key, (X,), {"twice": X}, DEVICE) is not None


@needs_owners
def test_a_file_of_another_user_is_not_read(tmp_path, compiling, monkeypatch):
    kept = Executables(tmp_path)
    kept.save("key", *compile_function())
    monkeypatch.setattr(os, "getuid", lambda: (tmp_path / "key").stat().st_uid + 1)
    assert not loads(kept)
    assert (tmp_path / "key").exists()


@needs_owners
def test_only_files_are_read_that_nobody_else_can_have_written(tmp_path, compiling):
    before = os.umask(0o002)  # files are writable by a group
    try:
        kept = Executables(tmp_path / "programs")
        kept.save("key", *compile_function())
    finally:
        os.umask(before)
    file = kept.directory / "key"
    assert loads(kept)
    for path, mode in ((file, 0o620), (file, 0o602), (kept.directory, 0o777), (kept.directory, 0o1777)):
        usual = path.stat().st_mode
        path.chmod(mode)
        assert not loads(kept)
        path.chmod(usual)
        assert loads(kept)
    file.rename(elsewhere := tmp_path / "elsewhere")
    file.symlink_to(elsewhere)
    assert not loads(kept)
    file.unlink()
    os.link(elsewhere, file)
    assert not loads(kept)
    file.unlink()
    os.mkfifo(file)
    assert not loads(kept)  # and nobody waits for a writer


def test_a_file_is_read_under_its_own_key_only(tmp_path, compiling):
    kept = Executables(tmp_path)
    kept.save("key", *compile_function())
    (tmp_path / "key").rename(tmp_path / "other")
    assert not loads(kept, "other")
    assert not (tmp_path / "other").exists()


def test_a_damaged_file_is_none(tmp_path, compiling):
    kept = Executables(tmp_path)
    kept.save("key", *compile_function())
    whole = (tmp_path / "key").read_bytes()
    flipped = whole[:-1] + bytes([whole[-1] ^ 1])
    for damaged in (b"", b"no program", whole[: len(whole) // 2], flipped):
        (tmp_path / "key").write_bytes(damaged)
        assert kept.load("key", (X,), {"twice": X}, DEVICE) is None
        assert not (tmp_path / "key").exists()  # so that it is written again


def test_what_cannot_be_kept_is_not(tmp_path, compiling):
    def calls_back(x):
        return jax.pure_callback(np.asarray, X, x)

    kept = Executables(tmp_path)
    kept.save("key", *compile_function(calls_back))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    Executables(tmp_path / "file").save("key", *compile_function())  # nobody can make a directory of a file


def test_what_was_not_used_for_longest_goes(tmp_path, monkeypatch, compiling):
    kept, program = Executables(tmp_path), compile_function()
    for age, name in enumerate("abc"):
        kept.save(name, *program)
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    kept.load("c", (X,), {"twice": X}, DEVICE)  # the oldest, used now
    size = (tmp_path / "a").stat().st_size
    monkeypatch.setattr(executables, "LARGEST", 3 * size + size // 2)
    kept.save("d", *program)
    assert {path.name for path in tmp_path.iterdir()} == {"a", "c", "d"}


def test_the_directory_is_listed_once_per_sixteenth_of_its_largest_size(tmp_path, monkeypatch, compiling):
    kept, program, listed = Executables(tmp_path), compile_function(), []
    monkeypatch.setattr(Executables, "_evict", lambda self: listed.append(len(list(tmp_path.iterdir()))))
    kept.save("first", *program)
    size = (tmp_path / "first").stat().st_size
    monkeypatch.setattr(executables, "LARGEST", 16 * (2 * size + size // 2))  # a sixteenth holds two files, not three
    for i in range(6):
        kept.save(f"file {i}", *program)
    assert listed == [1, 4, 7]


def test_a_program_is_saved_without_waiting_for_the_disk(tmp_path, monkeypatch, compiling):
    monkeypatch.setattr(os, "fsync", lambda file: pytest.fail("waits"))
    kept = Executables(tmp_path)
    kept.save("key", *compile_function())
    assert kept.load("key", (X,), {"twice": X}, DEVICE) is not None


def test_what_another_process_deletes_meanwhile_stops_no_eviction(tmp_path, monkeypatch, compiling):
    kept, program = Executables(tmp_path), compile_function()
    for age, name in enumerate("abc"):
        kept.save(name, *program)
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    size = (tmp_path / "a").stat().st_size
    monkeypatch.setattr(executables, "LARGEST", 2 * size + size // 2)
    (tmp_path / "gone").write_bytes(b"x")
    with os.scandir(tmp_path) as entries:
        listed = list(entries)
    (tmp_path / "gone").unlink()
    monkeypatch.setattr(os, "scandir", lambda directory: contextlib.nullcontext(listed))
    kept._evict()
    assert [name for name in "abc" if (tmp_path / name).exists()] == ["a", "b"]


@pytest.fixture
def cache(tmp_path, monkeypatch, compiling):
    monkeypatch.setattr(compilation_cache, "executables_for", lambda device: Executables(tmp_path))
    compilation.clear_compiled()
    yield tmp_path
    compilation.clear_compiled()


def run(meters=(), learner=None):
    compilation.clear_compiled()
    return simulate(learner or Shrink(), Noisy(scale=0.3), 10, 2, meters=meters, progress=False)


def test_programs_are_found_again_and_play_the_same(cache, monkeypatch):
    first = run().get("loss")
    assert len(list(cache.iterdir())) == 3  # two starts, and the rounds

    def build(*_):
        raise AssertionError("compiled although it is there")

    monkeypatch.setattr(compilation, "_compile", build)
    again = run().get("loss")
    np.testing.assert_array_equal(first, again)


@pytest.mark.slow
def test_a_program_whose_first_call_fails_is_compiled_and_called_anew(cache, monkeypatch):
    first = run().get("loss")
    calls = []

    class BrokenProgram:
        def __init__(self, name):
            self.name = name

        def __call__(self, *args):
            calls.append(self.name)
            raise jax.errors.JaxRuntimeError("NOT_FOUND: No FFI handler registered for lapack_sgetrf on platform Host")

    monkeypatch.setattr(Executables, "load", lambda self, key, *_: BrokenProgram(key))
    np.testing.assert_array_equal(run().get("loss"), first)
    assert len(calls) == len(set(calls)) == 3  # each is tried once and not again


def test_an_error_of_the_first_call_that_is_no_fault_of_the_file_is_raised():
    out_of_memory = jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 1073741824 bytes.")
    for error in (FloatingPointError("a NaN"), out_of_memory):

        def fails(*_, error=error):
            raise error

        with pytest.raises(type(error), match=str(error)[:5]):
            compilation.LoadedExecutable(fails, lambda: pytest.fail("compiled again"))(1.0)


def test_only_an_option_that_xla_does_not_know_is_left_out(monkeypatch):
    class LoweredProgram:
        def compile(self, compiler_options):
            compiled.append(dict(compiler_options))
            return jax.jit(double).lower(X).compile(compiler_options=compiler_options)

    compiled = []
    monkeypatch.setattr(compilation, "_unknown_options", set())
    options = {"xla_of_tomorrow": 1, "xla_backend_optimization_level": 0}
    ours = options | {compilation.NO_UNROLLING: True}  # taken out: XLA has it elsewhere
    with pytest.warns(RuntimeWarning, match="does not know the option xla_of_tomorrow: programs are compiled without"):
        compilation._compile(LoweredProgram(), ours)
    assert compiled == [options, {"xla_backend_optimization_level": 0}]
    compilation._compile(LoweredProgram(), ours)  # no second warning, no second failure
    assert compiled[2:] == [{"xla_backend_optimization_level": 0}]


def test_rebuilt_instances_are_a_program_like_others(cache, monkeypatch):
    @pytree
    class Rebuilding(Hindsight):
        def rebuild_instance(self, recorded):
            return {"scaled": self.scale * recorded["target"]}

        def in_hindsight(self, recorded, record_points):
            return {"rebuilt": recorded["scaled"]}

        def derive(self, values):
            return {}

    def rebuilt(scale):
        compilation.clear_compiled()
        trials = simulate(Shrink(), Rebuilding(scale=scale), 10, 2, progress=False)
        return trials.get("rebuilt"), scale * trials.get("target")

    first, _ = rebuilt(2.0)
    assert len(list(cache.iterdir())) == 4
    monkeypatch.setattr(compilation, "_compile", lambda *_: pytest.fail("compiled although it is there"))
    np.testing.assert_array_equal(rebuilt(2.0)[0], first)
    np.testing.assert_allclose(*rebuilt(4.0), rtol=1e-15)


@pytest.mark.slow
def test_another_meter_or_update_is_not_taken_for_it(cache):
    @pytree
    class Slower(Shrink):
        """The same name and fields."""

        def update(self, key, t, state, obs, decision, feedback):
            return 0.5 * super().update(key, t, state, obs, decision, feedback)

    Slower.__qualname__ = Slower.__name__ = "Shrink"
    meter = Meter("double", lambda played: 2.0 * played.outcome.loss)
    triple = Meter("double", lambda played: 3.0 * played.outcome.loss)
    plain, twice, thrice, slower = run(), run((meter,)), run((triple,)), run(learner=Slower())
    np.testing.assert_allclose(twice.get("double") * 1.5, thrice.get("double"), rtol=1e-6)
    np.testing.assert_array_equal(plain.get("loss"), twice.get("loss"))
    assert not np.array_equal(slower.get("loss"), plain.get("loss"))
