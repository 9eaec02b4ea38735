"""Settings of a run that `simulate`, `compare`, `sweep` and the command line share."""

import dataclasses
import os
from collections.abc import Sequence
from typing import TypedDict, Unpack

from jaxbandits.base import files, ranges
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.engine import meters as meters_lib
from jaxbandits.engine.meters import Meter
from jaxbandits.programs.compilation import Device

COUNT = f"[1, {2**31 - 1}]"  # rounds, trials, threads: all counted in int32
COMPILE = ("full", "fast")
MAX_SEED = 2**31 - 1  # global seed indices are int32 too
# A row of 16 trials fills whole vector registers of every CPU in both precisions. All slots of a batch then run the
# same code, so a trial has the same bits in every slot.
WIDTH_UNIT = 16


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Settings of a run. Of these, only the first five and the kind of `devices` can change its numbers.

    Attributes:
      meters: list of additional `Meter`s.
      seed: base seed, 0 to 2^32 - 1, from which all random numbers of the run follow.
      first_seed: index of the first seed, to extend or shard a run.
      width: number of trials that one program runs as a batch, 1 or a multiple of 16. The default on CPUs follows from
        the bytes of the arrays of one trial (64 up to 3 KiB, 16 up to 112 KiB, 1 beyond), but is at least the
        `min_width` of the algorithm, or 16 if it has a `capacity` (stored rounds of up to 16 MiB per trial), and is 1
        for code that prints (`jax.debug.print`). On CPUs all widths except 1 give the same bits.
      compile: `"full"`, or `"fast"`, which compiles rounds without optimisation in about two fifths of the time. The
        rounds then run at 1/8 to 1/48 of the full speed, so that `"fast"` suits runs of fewer than about a million
        rounds. The last bits of results differ.
      devices: JAX devices; by default all devices of the default backend.
      workers: number of threads; by default one per core, or one per device if there are several devices or an
        accelerator.
      seconds_per_call: duration of a call of compiled code; after each call the progress bar is updated and an
        interrupt takes effect.
      checkpoint: directory for checkpoints; after an interruption the same call resumes bit for bit.
      save_every: seconds between checkpoints of trials that are not finished.
      identity: a name, such as a version, that identifies code without a digest: callbacks to Python, and
        `derive` or `in_hindsight` of your environment. Without it, results of this code are not merged, and runs with
        callbacks are not resumed; equal names must mean equal code.
      progress: show a progress bar on standard error.
      title: text that the progress bar shows before the labels that are running.
    """

    meters: Sequence[Meter] = ()
    seed: int = 0
    first_seed: int = 0
    width: int | None = None
    compile: str = "full"
    devices: Sequence[Device] | None = None
    workers: int | None = None
    seconds_per_call: float = 0.2
    checkpoint: str | os.PathLike[str] | None = None
    save_every: float = 10.0
    identity: str | None = None
    progress: bool = True
    title: str = ""

    def __post_init__(self) -> None:
        """Check all settings, and convert whole numbers to ints; raise `InputError` if a setting is invalid."""
        if self.width is not None and ranges.integer("width", self.width, COUNT) > 1 and self.width % WIDTH_UNIT:
            raise InputError(f"width must be 1 or a multiple of {WIDTH_UNIT}, got {self.width}")
        if self.devices is not None and not _are_devices(self.devices):
            raise InputError(f"devices must be a list of JAX devices, got {format_value(self.devices)}")
        if self.checkpoint is not None:
            files.path_of(self.checkpoint, "checkpoint must be the path of a directory")
        if self.compile not in COMPILE:
            raise InputError(f"compile must be one of {', '.join(COMPILE)}, got {format_value(self.compile)}")
        if self.identity is not None and (not isinstance(self.identity, str) or not self.identity.strip()):
            raise InputError(
                f"identity must be text, such as a version of your code, got {format_value(self.identity)}"
            )
        if not isinstance(self.title, str):
            raise InputError(f"title must be text, got {format_value(self.title)}")
        checked = {
            "meters": meters_lib.check_meters(self.meters),
            "seed": ranges.integer("seed", self.seed, f"[0, {2**32 - 1}]"),
            "first_seed": ranges.integer("first_seed", self.first_seed, f"[0, {MAX_SEED}]"),
            "width": None if self.width is None else int(self.width),
            "workers": None if self.workers is None else ranges.integer("workers", self.workers, COUNT),
            "seconds_per_call": ranges.real("seconds_per_call", self.seconds_per_call, "(0, inf)"),
            "save_every": ranges.real("save_every", self.save_every, "[0, inf]"),
            "progress": ranges.flag("progress", self.progress),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)


class Settings(TypedDict, total=False):
    """Fields of `Options` as keyword arguments, for type checkers and editors."""

    meters: Sequence[Meter]
    seed: int
    first_seed: int
    width: int | None
    compile: str
    devices: Sequence[Device] | None
    workers: int | None
    seconds_per_call: float
    checkpoint: str | os.PathLike[str] | None
    save_every: float
    identity: str | None
    progress: bool
    title: str


def make_options(**settings: Unpack[Settings]) -> Options:
    """Return the options of a run, after checking them.

    Raises:
      InputError: for an unknown name (the message suggests close names), or for an invalid value.
    """
    names = [field.name for field in dataclasses.fields(Options)]
    for name in settings:
        if name not in names:
            raise unknown_name("option", name, names)
    return Options(**settings)


def check_seeds(first_seed: int, n_seeds: int, played: str) -> None:
    """Check that all seed indices of a run are allowed, before the first of its groups of seeds is played.

    Args:
      first_seed: index of the first seed.
      n_seeds: largest number of seeds that the groups can take together.
      played: description of these seeds.

    Raises:
      InputError: if an index exceeds `MAX_SEED`.
    """
    if first_seed + n_seeds > MAX_SEED + 1:
        most = MAX_SEED + 1 - n_seeds
        allowed = f"can be at most {most:,}, got {first_seed:,}" if most >= 0 else "has no allowed value"
        raise InputError(f"indices of seeds are at most {MAX_SEED:,}: with {played}, first_seed {allowed}")


def _are_devices(devices: object) -> bool:
    return isinstance(devices, (list, tuple)) and bool(devices) and all(hasattr(d, "device_kind") for d in devices)
