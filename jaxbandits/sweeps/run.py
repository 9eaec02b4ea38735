"""Running a sweep: part after part, each computed once, whoever is killed in between."""

import contextlib
import dataclasses
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, shown, unknown_name
from jaxbandits.base.files import LockedError, UnwritableError
from jaxbandits.base.versions import versions
from jaxbandits.results.result import Result
from jaxbandits.results.trials import Trials
from jaxbandits.simulation import checkpoint, collect, driver, identity
from jaxbandits.simulation.options import COUNT, Options
from jaxbandits.simulation.plan import Plan
from jaxbandits.sweeps import load
from jaxbandits.sweeps import sweep as sweep_lib
from jaxbandits.sweeps.checkpoints import PartStore
from jaxbandits.sweeps.directory import Directory
from jaxbandits.sweeps.sweep import Part, Planned, Sweep

_KNOWN = 10_000  # comparators in hindsight that are kept from part to part


def run_sweep(
    sweep: Sweep | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    shard: tuple[int, int] = (1, 1),
    fail_fast: bool = False,
    retry_failed: bool = False,
    devices: Sequence[Any] | None = None,
    workers: int | None = None,
    save_every: float = 10.0,
    progress: bool = True,
) -> load.SweepResult:
    """Computes what a directory lacks of a sweep; killed at any instant, the same call goes on, bit for bit.

    A part that fails is recorded, and the others go on. Parts that another process computes are left to it.

    Args:
      sweep: a `Sweep`, or the path of a sweep file.
      out: the directory; by default what the file says.
      shard: `(i, n)`: every n-th part, from the i-th on; 1 <= i <= n.
      fail_fast: return after the first part that fails.
      retry_failed: try parts again that failed in an earlier call.
      devices: as for `Options`, and so are the next three.
      workers: threads.
      save_every: seconds between checkpoints.
      progress: a bar on standard error.

    Returns:
      The results of all parts that are done by now, read when they are asked for.

    Raises:
      InputError: bad input, a directory that holds another sweep (naming what differs) or cannot be written.

    Example:
      >>> from jaxbandits import Grid, HeavyTailed, OFUL, Sweep
      >>> env = HeavyTailed(dim=2, n_arms=10)
      >>> todo = Sweep(algorithms=[Grid(OFUL(dim=2), {"ridge": [0.1, 1.0]})], environment=env, horizon=20, seeds=8)
      >>> run_sweep(todo, "runs/ridge", progress=False).final("regret").final().shape  # [point, seed]
      (2, 8)
    """
    first, n_shards = _checked_shard(shard)
    ranges.flag("fail_fast", fail_fast)
    ranges.flag("retry_failed", retry_failed)
    settings = Options(devices=devices, workers=workers, save_every=save_every, progress=progress)
    if isinstance(sweep, (str, os.PathLike)):
        # Not above: the registries compute, and `jax.distributed` must be told of first.
        from jaxbandits.sweeps import file as file_lib

        document = file_lib.read(sweep)
        sweep, out = file_lib.sweep_of(document), document.out if out is None else out
    if out is None:
        raise InputError("out must be the directory of the sweep")
    return run_planned(
        sweep_lib.plan(sweep, devices), Directory(out), (first, n_shards), fail_fast, retry_failed, settings
    )


def run_planned(
    planned: Planned,
    directory: Directory,
    shard: tuple[int, int],
    fail_fast: bool,
    retry_failed: bool,
    options: Options,
) -> load.SweepResult:
    """The same for a checked sweep."""
    directory.begin(manifest_of(planned), lambda saved, now: _refuse_another(directory, planned, saved, now))
    todo = planned.parts[shard[0] - 1 :: shard[1]]
    work = _Work(planned, directory, retry_failed, options, len(todo))
    for _ in range(2):  # whoever held a part in the first round may have left by the second
        held = []
        for number, part in enumerate(todo, start=1 + work.n_parts - len(todo)):
            if not work.done(part, number):
                held.append(part)
            if work.failed and fail_fast:
                return load.load_sweep(directory.path)
        todo = held
    return load.load_sweep(directory.path)


def manifest_of(planned: Planned) -> dict[str, Any]:
    """Return the manifest of a planned sweep."""
    labels = {
        run.label: {
            "points": [dict(point) for point in run.whole.points],
            "seeds": run.whole.n_seeds,
        }
        for run in planned.labelled
    }
    parts = [
        {
            "name": part.name,
            "label": part.label,
            "positions": list(part.positions),
            "first_seed": part.job.first_seed,
            "seeds": part.job.n_seeds,
            "trials": part.job.n_trials,
            "rounds": part.rounds,
            "width": part.job.width,
        }
        for part in planned.parts
    ]
    info = {"versions": versions(), "base_seed": planned.sweep.seed}
    return {"file": planned.sweep.file, "spec": planned.spec, "info": info, "labels": labels, "parts": parts}


def _refuse_another(directory: Directory, planned: Planned, saved: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise an error that names the first difference between two manifests, by the key of the file if it is there."""
    if saved.get("spec") == now["spec"]:
        return
    files = saved.get("file"), json.loads(json.dumps(now["file"], default=str))
    in_file = all(files) and files[0] != files[1]
    what = checkpoint.first_difference(*(files if in_file else (saved.get("spec"), now["spec"])))
    where = f"{planned.sweep.source}: " if in_file else ""
    raise InputError(
        f"{where}{directory.path} holds another sweep: {what[:300]}; give the same settings to resume, "
        "or another directory"
    )


class _Work:
    """One call's way through its parts."""

    def __init__(self, planned: Planned, directory: Directory, retry_failed: bool, options: Options, n_parts: int):
        self.planned, self.directory, self.options, self.n_parts = planned, directory, options, n_parts
        self.retry_failed, self.failed = retry_failed, False
        self.known: collect.Hindsight = {}

    def done(self, part: Part, number: int) -> bool:
        """Computes a part unless that was done or has failed before; False if another process holds it."""
        name, directory = part.name, self.directory
        if self._needs_nothing(name):
            if directory.working(name).exists():  # of a process that was killed with its work done
                with contextlib.suppress(LockedError), directory.held(name) as working:
                    self._clear(name, working)
            return True
        try:
            with directory.held(name) as working:
                if self._needs_nothing(name):  # by whoever held it before
                    return True
                directory.forget_failure(name)
                self._compute(part, number, working)
                return True
        except LockedError:
            return False

    def _needs_nothing(self, name: str) -> bool:
        if not self.retry_failed and self.directory.failure(name) is not None:
            return True
        record = self.directory.record(name)
        if record is None:
            return False
        if self.directory.is_whole(name, record):
            return True
        print(f"jaxbandits: {self.directory.result(name)} is damaged; it is computed again", file=sys.stderr)
        return False

    def _compute(self, part: Part, number: int, working: Path) -> None:
        name, begin = part.name, time.perf_counter()
        try:
            trials, timing = self._trials(part, number, working / "checkpoint")
        except UnwritableError:
            raise
        except Exception as error:  # of this part: the others may well go on
            text = " ".join(f"{error if isinstance(error, InputError) else repr(error)}".split())[:500]
            self.directory.fail(name, text)
            checkpoint.discard(working / "checkpoint")  # a new attempt begins afresh
            print(f"jaxbandits: part {name} failed: {text}", file=sys.stderr)
            self.failed = True
            return
        try:
            trials = self._kept(trials)
        except InputError:
            self._clear(name, working)  # so that the directory can be used once the mistake is mended
            raise
        info = {"versions": versions(), "base_seed": self.planned.sweep.seed}
        Result({part.label: trials}, info).save(self.directory.result(name))
        about = {
            "trials": part.job.n_trials,
            "failed_trials": _failed(trials),
            "inadmissible_trials": int((trials.inadmissible > 0).sum()),
            "wall_s": time.perf_counter() - begin,
            "timing": timing,
        }
        self.directory.finish(name, about)
        self._clear(name, working)

    def _clear(self, name: str, working: Path) -> None:
        checkpoint.discard(working / "checkpoint")
        self.directory.tidy(name)

    def _trials(self, part: Part, number: int, directory: Path) -> tuple[Trials, dict[str, Any]]:
        """The trials of a part without what differs from run to run, and that."""
        planned, chosen = self.planned, self.options
        plan = Plan((part.job,), planned.sweep.seed)
        with PartStore(directory, plan, identity.plan_spec(plan, planned.devices), chosen.save_every) as store:
            output = driver.run(
                plan, devices=planned.devices, workers=chosen.workers, save_every=chosen.save_every,
                progress=chosen.progress, title=f"part {number} of {self.n_parts}", stages=False, store=store,
            )  # fmt: skip
        if len(self.known) > _KNOWN:
            self.known.clear()
        spec = planned.described(part)
        trials = collect.collect_trials(part.job, output.block_values[0], output.timing[0], self.known, spec)
        return dataclasses.replace(trials, timing={}), trials.timing

    def _kept(self, trials: Trials) -> Trials:
        metrics = self.planned.sweep.metrics
        if metrics is None:
            return trials
        for metric in metrics:
            if metric not in trials.values:
                where = f"{self.planned.sweep.source}: " if self.planned.sweep.source else ""
                raise InputError(f"{where}metrics: {unknown_name('metric', metric, trials.values)}")
        kept = {
            field: {name: getattr(trials, field)[name] for name in metrics if name in getattr(trials, field)}
            for field in ("values", "axes", "units")
        }
        return dataclasses.replace(trials, **kept)


def _failed(trials: Trials) -> int:
    failed = ~trials.healthy
    for metric in trials.values:
        failed = failed | trials.failed(metric)
    return int(failed.sum())


def _checked_shard(shard: Any) -> tuple[int, int]:
    if not isinstance(shard, (list, tuple)) or len(shard) != 2:
        raise InputError(f"shard must be (i, n) with 1 <= i <= n, got {shown(shard)}")
    n = ranges.integer("the number of shards", shard[1], COUNT)
    return ranges.integer("shard", shard[0], f"[1, {n}]"), n
