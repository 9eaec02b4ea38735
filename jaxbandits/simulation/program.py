"""Compiled programs: the one place that jits. One program (its starts and `advance`) serves every piece of a job.

A program depends on the structure of algorithm and environment, the shapes of shared data, the piece width, the room
for rows per call and the device; never on hyperparameter values, seeds or the horizon. Programs are kept for later
runs of the process, up to `MAX_PARTS`; the one that was not used for longest goes first.
"""

import collections
import dataclasses
import functools
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.digests import user_code_digests
from jaxbandits.base.pytree import map_traced
from jaxbandits.simulation import compilation_cache, loop
from jaxbandits.simulation import meters as meters_lib
from jaxbandits.simulation.executables import key_of
from jaxbandits.simulation.loop import Carry, Trial
from jaxbandits.simulation.meters import Meter
from jaxbandits.tracing import target
from jaxbandits.tracing.vmap_last import TracedFunction
from jaxbandits.types import InitFromObs

Device: TypeAlias = Any  # a jax.Device, which type checkers see as a variable

_LARGEST_STEP = 8  # a call has at most so many times the rounds of the one before it: early rounds may be cheap
MAX_PARTS = 256  # compiled functions that are kept, three to a program (accelerators: five); some megabytes each
BLOCK = 64  # rounds of one call on an accelerator, where a round takes longer than a call costs
_NO_STOP = 2**31 - 1


class Pace:
    """How fast a program is, as last measured. It outlives a run, so that the next one starts from it."""

    def __init__(self) -> None:
        self._seconds_per_round: float | None = None

    def rounds(self, last: int | None, seconds: float) -> int:
        """Rounds that a call may play to take about `seconds`; the first call ever plays one.

        Args:
          last: rounds of the call before it in this piece; None for the first.
          seconds: what a call should take.
        """
        if self._seconds_per_round is None:
            return 1
        fits = max(1, int(min(seconds / self._seconds_per_round, 2**31)))
        return fits if last is None else min(fits, last * _LARGEST_STEP)

    def measured(self, seconds: float, rounds: int, wanted: float) -> None:
        """Takes note of a call. A slower one counts only if it was long enough not to be mostly cost of the call."""
        new, old = seconds / rounds, self._seconds_per_round
        if old is None or new < old or seconds > 0.1 * wanted:
            self._seconds_per_round = new


@dataclasses.dataclass(frozen=True)
class Blocks:
    """`advance` in programs whose loops all have a known number of steps: `tracing.target` says where, and why.

    From one record point to the next blocks of `BLOCK` rounds are played, what is left round by round. Which program
    plays a round follows from the record points alone, so that no bit depends on how rounds are cut into calls.
    """

    block: Any  # jax.stages.Compiled: `loop.play_block` of BLOCK rounds
    single: Any  # of one
    report: Any

    def play(
        self, algorithm: Any, environment: Any, carry: Carry, t: int, end: int, stops: np.ndarray, device: Device
    ) -> tuple[Carry, dict[str, np.ndarray], int]:
        """As `Program.play`; plays the block that `end` lies in to its end. Nothing waits before the last one."""
        rows: list[Any] = []
        now = jax.device_put(np.int32(t), device)
        while t < end:
            stop = int(stops[len(rows)])
            rounds, play = (BLOCK, self.block) if stop - t >= BLOCK else (1, self.single)
            carry, now = play(algorithm, environment, carry, now)
            t += rounds
            if t == stop:
                carry, row = self.report(algorithm, environment, carry)
                rows.append(row)
        jax.block_until_ready(carry)
        names = rows[0] if rows else ()
        return carry, {name: np.stack([np.asarray(row[name]) for row in rows]) for name in names}, t


@dataclasses.dataclass(frozen=True)
class Program:
    """The compiled start and advance of one job on one device."""

    start_environment: Any  # jax.stages.Compiled, shared by all algorithms on this environment
    start_algorithm: Any
    advance: Any  # jax.stages.Compiled of `loop.advance`, or Blocks
    pace: Pace
    carry_shape: Carry  # ShapeDtypeStructs
    nothing: tuple[Any, Any]  # on the device: totals of fresh trials, and zeros where feedback will wait
    row_slots: int  # record points that one call can report
    compile_s: float
    device: Device

    def start(self, algorithm: Any, environment: Any, base_key: jax.Array, seed_index: Any) -> Carry:
        """A piece of fresh trials: leaves of `algorithm`, `environment` and `seed_index` as `advance` takes them.

        Keys are `bare`, here and in the trials.
        """
        half = self.start_environment(environment, base_key, seed_index)
        met = (environment, half) if isinstance(algorithm, InitFromObs) else ()
        first = self.start_algorithm(algorithm, base_key, seed_index, *met)
        return loop.assemble(half, first, *self.nothing)

    def play(
        self, algorithm: Any, environment: Any, carry: Carry, t: int, end: int, stops: np.ndarray
    ) -> tuple[Carry, dict[str, np.ndarray], int]:
        """Plays rounds `t` to `end` of a piece.

        Args:
          algorithm: arguments of the piece on the device.
          environment: the same.
          carry: the trials after `t` rounds.
          t: rounds already played.
          end: rounds played afterwards; in `Blocks` it may be a few more.
          stops: `[<= row_slots]` the record points after `t`; `end` is none that lies behind the last of them.

        Returns:
          The trials afterwards, `[reached, ..., W]` rows of the record points on the way, and how many rounds the
          trials have played.
        """
        if isinstance(self.advance, Blocks):
            return self.advance.play(algorithm, environment, carry, t, end, stops, self.device)
        padded = np.pad(stops, (0, self.row_slots - len(stops)), constant_values=_NO_STOP).astype(np.int32)
        # From the host: a transfer of its own would be waited for, which takes as long as thousands of rounds.
        carry, block = self.advance(algorithm, environment, carry, np.int32(t), np.int32(end), padded)
        reached = int(np.searchsorted(stops, end, side="right"))
        return carry, {name: values[:reached] for name, values in to_host(block).items()}, end


class Shelf:
    """What was made, by key, up to a bound; the entry that was not used for longest goes first. Each is made once."""

    def __init__(self, bound: int):
        self.bound = bound
        self._made: collections.OrderedDict[Hashable, Future[Any]] = collections.OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The entry of a key; whoever asks while another thread makes it waits for that one."""
        with self._lock:
            mine = key not in self._made
            future = self._made.setdefault(key, Future())
            self._made.move_to_end(key)
            while len(self._made) > self.bound:
                self._made.popitem(last=False)
        if mine:
            try:
                future.set_result(make())
            except BaseException as error:
                with self._lock:
                    self._made.pop(key, None)  # the next one tries again
                future.set_exception(error)
        return future.result()

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._made.clear()

    def __len__(self) -> int:
        return len(self._made)


_parts = Shelf(MAX_PARTS)
_trials = Shelf(MAX_PARTS)


class Made(NamedTuple):
    """What a part is made of: it says which program on disk is the same."""

    traces: tuple[TracedFunction, ...]
    out: Any  # of the structure of what it returns
    names: tuple[str, ...] = ()  # of the metrics in it

    @classmethod
    def by(cls, half: TracedFunction) -> "Made":
        """Of one trace, which returns what the part returns."""
        return cls((half,), half.out)


class Part(NamedTuple):
    """A function of a program, and what it is compiled for."""

    name: tuple[Hashable, ...]  # what it is, what it measures, and last the number of trials side by side
    function: Callable[..., Any]
    static: tuple[Any, ...]  # its first arguments
    args: tuple[Any, ...]  # shapes of the others
    options: dict[str, Any]  # for XLA on a CPU
    made: Made | None = None  # None: it is not kept on disk


class FromDisk:
    """A program that an earlier process compiled. Where its first call fails, it is compiled again and called anew."""

    def __init__(self, program: Callable[..., Any], compile_again: Callable[[], Callable[..., Any]]):
        self._program, self._compile_again = program, compile_again
        self._proven, self._lock = False, threading.Lock()

    def __call__(self, *args: Any) -> Any:
        """Call the program."""
        if self._proven:
            return self._program(*args)
        with self._lock:
            try:
                out = jax.block_until_ready(self._program(*args))  # an error shows when the results are waited for
            except Exception:
                self._program = self._program if self._proven else self._compile_again()
                out = self._program(*args)
            self._proven = True
        return out


def get_trial(meters: tuple[Meter, ...], algorithm: Any, environment: Any, platform: str | None = None) -> Trial:
    """One trial of a job, traced.

    Args:
      meters: extra meters.
      algorithm: hyperparameters of one trial.
      environment: the same.
      platform: where it will run; None: where JAX's default device is.
    """
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), (algorithm, environment, *_seed_shapes()))
    platform = platform or jax.default_backend()

    def make() -> Trial:
        with target.target_platform(platform):
            return loop.trace(meters, *shapes)

    return _trials.get((meters, platform, *_key(shapes, meters)), make)


def get_program(
    meters: tuple[Meter, ...], algorithm: Any, environment: Any, width: int, row_slots: int, device: Device
) -> Program:
    """The program for these structures; each part is compiled at most once while it is kept.

    Args:
      meters: extra meters.
      algorithm: hyperparameters of one trial.
      environment: the same.
      width: trials per piece.
      row_slots: record points that one call can report.
      device: where it runs.
    """
    begin = time.perf_counter()
    where = jax.sharding.SingleDeviceSharding(device)

    def one(x: Any) -> Any:
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=where)

    def many(x: Any) -> Any:
        return one(x) if width == 1 else jax.ShapeDtypeStruct((*x.shape, width), x.dtype, sharding=where)

    alg, env = (jax.tree.map(one, map_traced(many, obj)) for obj in (algorithm, environment))
    base_key, seed_index = _seed_shapes()
    trials = (one(base_key), many(seed_index))
    trial = get_trial(meters, algorithm, environment, device.platform)
    carry = jax.tree.map(many, trial.carry)
    # what the start of a learner does not need is left out: one start then serves all environments
    met = (env, (carry.streams.observe, carry.streams.step, carry.env)) if isinstance(algorithm, InitFromObs) else ()
    t = one(seed_index)
    env_half, alg_half = trial.start_environment, trial.start_algorithm
    # A start runs once per piece and is large (every arm is its own output): compiled fast rather than well.
    starts = (
        Part(("environment", width), _start, (env_half, width), (env, *trials), _FAST_COMPILE, Made.by(env_half)),
        Part(("algorithm", width), _start, (alg_half, width), (alg, *trials, *met), _FAST_COMPILE, Made.by(alg_half)),
    )
    if target.is_accelerator(device.platform):
        args = (alg, env, carry, t)
        advances = {
            "block": Part(("block", meters, width), loop.play_block, (trial, width, BLOCK), args, _FAST_CODE),
            "single": Part(("single", meters, width), loop.play_block, (trial, width, 1), args, _FAST_CODE),
            "report": Part(("report", width), loop.report_block, (trial, width), args[:3], _FAST_CODE),
        }
    else:
        rounds = (t, t, jax.ShapeDtypeStruct((row_slots,), np.int32, sharding=where))
        made = Made((trial.round, trial.snapshot), (trial.carry, trial.row), tuple(trial.row))
        args = (alg, env, carry, *rounds)
        advances = {"advance": Part(("advance", meters, width), loop.advance, (trial, width), args, _FAST_CODE, made)}
    with ThreadPoolExecutor(2 + len(advances)) as pool:  # XLA compiles outside the GIL
        halves = [pool.submit(_once, part, device) for part in starts]
        rest = {name: pool.submit(_once, part, device) for name, part in advances.items()}
        (env_start, _), (alg_start, _) = (half.result() for half in halves)
        parts = {name: part.result()[0] for name, part in rest.items()}
        pace = next(iter(rest.values())).result()[1]
    advance = parts["advance"] if "advance" in parts else Blocks(**parts)
    totals = {key: np.full(x.shape, meters_lib.zero_of(key), x.dtype) for key, x in carry.totals.items()}
    waiting = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), carry.waiting)
    nothing = jax.device_put((totals, waiting), device)  # once: a transfer for every piece costs as much as its start
    return Program(env_start, alg_start, advance, pace, carry, nothing, row_slots, time.perf_counter() - begin, device)


@functools.cache
def _seed_shapes() -> tuple[Any, Any]:
    return jax.eval_shape(lambda: (jax.random.key(0, impl="threefry2x32"), jnp.int32(0)))


def _start(half: TracedFunction, width: int, part: Any, base_key: jax.Array, seed_index: jax.Array, *met: Any) -> Any:
    return loop.mapped(half, width, (base_key,), part, seed_index, *met)


def recall(
    environments: Any, points: Sequence[int], recorded: dict[str, np.ndarray], width: int
) -> dict[str, np.ndarray]:
    """What an environment that `RebuildsInstance` says of instances: float64 arrays `[..., n]`.

    Args:
      environments: leaves `[H, ...]` on the host; shared ones have no axis of points.
      points: `[n]` the hyperparameter point of each instance.
      recorded: by name `[..., n]`.
      width: instances side by side.
    """
    device, real = jax.local_devices()[0], jnp.result_type(float)
    first_one = (
        map_traced(lambda leaf: leaf[0], environments),
        {name: array[..., 0].astype(real) for name, array in recorded.items()},
    )
    one = _trials.get(("recall", device.platform, *_key(first_one)), lambda: _traced_recall(device, *first_one))
    pieces = []
    for first in range(0, len(points), width):
        lanes = np.minimum(np.arange(first, first + width), len(points) - 1)  # the last piece is filled up
        of = np.asarray(points)[lanes]
        args = jax.device_put(
            (
                map_traced(lambda leaf, of=of: np.moveaxis(leaf[of], 0, -1), environments),
                {name: array[..., lanes].astype(real) for name, array in recorded.items()},
            ),
            device,
        )
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), args)
        program, _ = _once(Part(("recall", width), _recall, (one, width), shapes, _FAST_COMPILE, Made.by(one)), device)
        pieces.append(to_host(program(*args)))
    return {
        name: np.concatenate([np.asarray(piece[name], np.float64) for piece in pieces], -1)[..., : len(points)]
        for name in pieces[0]
    }


def _traced_recall(device: Device, environment: Any, recorded: dict[str, Any]) -> TracedFunction:
    def one(environment: Any, recorded: dict[str, jax.Array]) -> dict[str, jax.Array]:
        return environment.rebuild_instance(recorded)

    with target.target_platform(device.platform):
        return TracedFunction.trace(one, environment, recorded)


def _recall(one: TracedFunction, width: int, environments: Any, recorded: dict[str, jax.Array]) -> dict[str, jax.Array]:
    return loop.mapped(one, width, (), environments, recorded)


def is_key(x: Any) -> bool:
    """Whether an array, or what stands for its shape, holds keys."""
    return bool(jnp.issubdtype(x.dtype, jax.dtypes.prng_key))


def bare(x: Any) -> Any:
    """An array, of keys their data `[..., 2]`: JAX calls programs of plain arrays without detours in Python."""
    return jax.random.key_data(x) if is_key(x) else x


def _as_key(data: jax.Array) -> jax.Array:
    return jax.random.wrap_key_data(data, impl="threefry2x32")


def _bare_shape(x: Any) -> Any:
    return jax.ShapeDtypeStruct((*x.shape, 2), np.uint32, sharding=x.sharding) if is_key(x) else x


def base_key(seed: int, device: Device) -> jax.Array:
    """The `bare` key that a run begins with: that of `jax.random.key(seed)`, which would compile a program for it."""
    return jax.device_put(np.array([0, seed], np.uint32), device)  # a seed is below 2^32


def _key(args: Any, also: Any = ()) -> tuple[Hashable, ...]:
    """What programs of these shapes have in common, the users' code in it and in `also` included."""
    leaves, structure = jax.tree.flatten(args)
    shapes = tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)
    return structure, shapes, bool(jax.config.jax_enable_x64), user_code_digests(args, also)


def _once(part: Part, device: Device) -> tuple[Any, Pace]:
    """Compiles a part unless that has been done, here or in an earlier process; with the pace measured so far.

    What is compiled takes and returns `bare` keys.
    """
    function, static, args = part.function, part.static, part.args

    def plain(*plain_args: Any) -> Any:
        """A function of its own: what JAX remembers of it goes when it goes."""
        keys = jax.tree.map(lambda x, like: _as_key(x) if is_key(like) else x, plain_args, args)
        return jax.tree.map(bare, function(*static, *keys))

    def compile_and_save(save: Callable[[Any, Any], None] | None) -> Any:
        with target.target_platform(device.platform):
            lowered = jax.jit(plain).lower(*jax.tree.map(_bare_shape, args))
        program = _build(lowered, device, part.options)
        if save:
            save(lowered, program)
        return program

    def build() -> tuple[Any, Pace]:
        kept = compilation_cache.kept_for(device)
        key = _key_on_disk(part, part.made, device) if kept and part.made else None
        if not (kept and part.made and key):
            return compile_and_save(None), Pace()
        save = functools.partial(kept.save, key)
        found = kept.load(key, args, part.made.out, device)
        return FromDisk(found, lambda: compile_and_save(save)) if found else compile_and_save(save), Pace()

    return _parts.get((part.name, *_key(args, part.name), device), build)


def _key_on_disk(part: Part, made: Made, device: Device) -> str | None:
    traces = [trace.jaxpr for trace in made.traces]
    return key_of(str(part.name[0]), traces, part.args, (part.name[-1], made.names), part.options, device)


def clear_programs() -> None:
    """Forgets every compiled program (for tests and for measuring compile time)."""
    _parts.clear()
    _trials.clear()


def compiled_count() -> int:
    """How many compiled parts this process keeps."""
    return len(_parts)


_FAST_COMPILE = {"xla_backend_optimization_level": 0}
_FAST_CODE = {"xla_cpu_prefer_vector_width": 512}  # measured 1.1x to 1.25x with AVX-512, nothing lost without


def _build(lowered: Any, device: Device, cpu_options: dict[str, Any]) -> Any:
    if target.is_accelerator(device.platform):
        return lowered.compile()
    try:
        return lowered.compile(compiler_options=cpu_options)
    except jax.errors.JaxRuntimeError as error:  # an older jaxlib without the option
        if "No such compile option" not in str(error):
            raise
        return lowered.compile()


def to_host(tree: Any) -> Any:
    """Waits for the computation and copies it to NumPy arrays."""
    return jax.tree.map(np.asarray, tree)
