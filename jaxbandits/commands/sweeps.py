"""Commands for sweeps: `sweep`, `submit`, `status`, and also `merge` and `export`, which accept result files too."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jaxbandits.base.text import count_of
from jaxbandits.commands.arguments import number, path, settings, shard, whole, with_plugins

if TYPE_CHECKING:
    from jaxbandits.commands.arguments import Subparsers
    from jaxbandits.sweeps.sweep import SweepPlan


def add(commands: "Subparsers") -> None:
    """Add the parsers of `sweep`, `submit`, `merge`, `status` and `export`."""
    about = settings()
    sweep = commands.add_parser("sweep", parents=[with_plugins()], help="run the sweep of a file, or resume it")
    sweep.add_argument(
        "file", type=Path, help="a TOML file with algorithms, environments, horizon and seeds (see docs/sweeps.md)"
    )
    sweep.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="replace a value of the file, such as horizon=500 or env.dim=5,10 (may be repeated)",
    )
    sweep.add_argument(
        "-o", "--out", type=path, help="directory of the sweep (default: the file's `out`, or results/FILE)"
    )
    sweep.add_argument("--dry-run", action="store_true", help="check the file and print the expected cost")
    sweep.add_argument(
        "--shard",
        type=shard,
        default=(1, 1),
        metavar="I/N",
        help="compute only every N-th part, starting with the I-th",
    )
    sweep.add_argument("--fail-fast", action="store_true", help="stop at the first part that fails")
    sweep.add_argument("--retry-failed", action="store_true", help="recompute parts that failed in an earlier run")
    sweep.add_argument("--workers", type=whole, help=about["workers"])
    sweep.add_argument(
        "--save-every", type=number, default=10.0, metavar="SECONDS", help=f"{about['save_every']} (default: 10)"
    )
    sweep.add_argument("--quiet", action="store_true", help="do not show progress")
    sweep.set_defaults(run=_sweep)

    submit = commands.add_parser(
        "submit", parents=[with_plugins()], help="run the sweep of a file as jobs on a cluster, or resume it"
    )
    submit.add_argument("file", type=Path, help="the sweep file")
    submit.add_argument(
        "--cluster",
        required=True,
        metavar="slurm|local|ADDRESS",
        help="slurm, or local for processes on this machine, to queue the jobs; or an address, to run the jobs there "
        "and wait for them: processes://N, dask://HOST:PORT, ray, ray://HOST:PORT or mpi",
    )
    submit.add_argument(
        "--jobs",
        type=whole,
        help="number of jobs; job i of n runs `--shard i/n` (default: 1; with an address, one per part and at most 64)",
    )
    submit.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="as for sweep"
    )
    submit.add_argument(
        "-o", "--out", type=path, help="directory of the sweep, accessible from all nodes (default: as for sweep)"
    )
    submit.add_argument(
        "--minutes", type=whole, help="time limit of a job, after which it is queued again (default: 60)"
    )
    submit.add_argument("--cpus", type=whole, help="CPU cores per job (default: that of the cluster)")
    submit.add_argument("--gpus", type=whole, help="GPUs per job (default: that of the cluster)")
    submit.add_argument("--memory-gb", type=number, help="memory per job in GB (default: that of the cluster)")
    submit.add_argument("--partition", help="partition of the cluster (default: the one that the cluster chooses)")
    submit.add_argument("--retry-failed", action="store_true", help="recompute parts that failed in an earlier run")
    submit.add_argument(
        "--save-every", type=number, default=10.0, metavar="SECONDS", help=f"{about['save_every']} (default: 10)"
    )
    submit.add_argument("--wait", action="store_true", help="with slurm or local: wait until all jobs have ended")
    submit.set_defaults(run=_submit)

    merge = commands.add_parser("merge", help="merge directories of one sweep, or result files of one run")
    merge.add_argument("paths", nargs="+", type=Path, help="directories of one sweep, or .npz files of results")
    merge.add_argument("-o", "--out", type=path, required=True, help="directory or file to write")
    merge.set_defaults(run=_merge)

    status = commands.add_parser(
        "status",
        parents=[with_plugins()],
        help="print the state of a sweep: finished and missing parts, failures, time left",
    )
    status.add_argument("directory", type=Path, help="directory of the sweep")
    status.add_argument("--json", action="store_true", help="print the state as JSON")
    status.set_defaults(run=_status)

    export = commands.add_parser(
        "export", help="convert a result file, or the finished parts of a sweep, to CSV, Parquet or NetCDF"
    )
    export.add_argument("path", type=Path, help="the directory of a sweep, or an .npz file")
    export.add_argument(
        "-o",
        "--out",
        type=Path,
        help="path of the file, ending in .csv, .parquet, or .nc for NetCDF (default: PATH.csv)",
    )
    export.add_argument("--final", action="store_true", help="export the last record point only")
    export.set_defaults(run=_export)


def _plan(arguments: argparse.Namespace) -> "tuple[SweepPlan, Path]":
    """Read a sweep file and set its precision; return the plan and the directory."""
    import jax

    from jaxbandits.sweeps import file
    from jaxbandits.sweeps.sweep import plan_sweep

    document = file.read(arguments.file, arguments.overrides)
    if document.precision is not None:
        jax.config.update("jax_enable_x64", document.precision == "float64")
    return plan_sweep(file.make_sweep(document)), document.out if arguments.out is None else arguments.out


def _sweep(arguments: argparse.Namespace) -> int:
    from jaxbandits.engine.options import Options
    from jaxbandits.sweeps.directory import Directory
    from jaxbandits.sweeps.estimate import estimate_cost
    from jaxbandits.sweeps.run import run_plan
    from jaxbandits.sweeps.status import format_status, read_status

    options = Options(workers=arguments.workers, save_every=arguments.save_every, progress=not arguments.quiet)
    plan, out = _plan(arguments)
    if arguments.dry_run:
        print(estimate_cost(plan, options.workers).format())
        return 0
    directory = Directory(out)
    try:
        result = run_plan(plan, directory, arguments.shard, arguments.fail_fast, arguments.retry_failed, options)
    except KeyboardInterrupt:
        print(f"jaxbandits: stopped; the same command resumes in {directory.path}", file=sys.stderr)
        raise
    print(format_status(read_status(directory.path)))
    first, n_shards = arguments.shard
    shard_parts = {part.name for part in plan.parts[first - 1 :: n_shards]}
    return 1 if shard_parts & result.failures.keys() else 0


def _submit(arguments: argparse.Namespace) -> int:
    from jaxbandits.sweeps.submit import CLUSTERS, submit

    plan, out = _plan(arguments)
    if arguments.cluster not in CLUSTERS:
        from jaxbandits.commands.remote import run_on_cluster

        run_on_cluster(arguments, plan.sweep, out)
        return _print_status(out)
    more = [word for override in arguments.overrides for word in ("--set", override)]
    more += [word for file in arguments.plugin for word in ("--plugin", str(Path(file).resolve()))]
    more += ["--save-every", str(arguments.save_every), *["--retry-failed"] * arguments.retry_failed]
    jobs = submit(
        arguments.main,
        arguments.file,
        out,
        cluster=arguments.cluster,
        jobs=min(1 if arguments.jobs is None else arguments.jobs, len(plan.parts)),
        arguments=more,
        minutes=60 if arguments.minutes is None else arguments.minutes,
        cpus=arguments.cpus,
        gpus=arguments.gpus,
        memory_gb=arguments.memory_gb,
        partition=arguments.partition,
    )
    print(
        f"{count_of(len(jobs), 'job')} for {count_of(len(plan.parts), 'part')}: {', '.join(job.job_id for job in jobs)}"
    )
    print(f"The logs are in {out / 'jobs'}; `jaxbandits status {out}` prints the state of the sweep.")
    if not arguments.wait:
        return 0
    for job in jobs:
        job.wait()
    return _print_status(out)


def _print_status(out: Path) -> int:
    """Print the state of a sweep; return 0 if all parts are done, else 1."""
    from jaxbandits.sweeps.status import format_status, read_status

    state = read_status(out)
    print(format_status(state))
    return 0 if state["parts"]["done"] == state["parts"]["total"] else 1


def _merge(arguments: argparse.Namespace) -> int:
    from jaxbandits.base.errors import InputError
    from jaxbandits.results.merge import merge
    from jaxbandits.results.result import Result
    from jaxbandits.sweeps.merge import merge_sweeps

    directories = [path for path in arguments.paths if path.is_dir()]
    others = [path for path in arguments.paths if not path.is_dir()]
    if directories and others:
        kind = "file" if others[0].exists() else "path (which does not exist)"
        raise InputError(
            "merge accepts either directories of one sweep or result files, "
            f"got the directory {directories[0]} and the {kind} {others[0]}"
        )
    if others:
        print("wrote", merge([Result.load(path) for path in arguments.paths]).save(arguments.out), sep="\n  ")
        return 0
    merge_sweeps(arguments.paths, arguments.out)
    return _print_status(arguments.out)


def _status(arguments: argparse.Namespace) -> int:
    import json

    from jaxbandits.sweeps.status import format_status, read_status

    state = read_status(arguments.directory)
    print(json.dumps(state, indent=1) if arguments.json else format_status(state))
    return 0


def _export(arguments: argparse.Namespace) -> int:
    import dataclasses

    from jaxbandits.base.errors import InputError
    from jaxbandits.results.result import Result
    from jaxbandits.sweeps.load import load_sweep

    source = arguments.path
    named = source if source.name else source.resolve()  # the path "." has no name
    path = arguments.out or named.with_name(named.name.removesuffix(".npz") + ".csv")
    writers = {".csv": "to_csv", ".parquet": "to_parquet", ".nc": "to_netcdf"}
    if path.suffix not in writers:
        raise InputError(f"--out must end in {', '.join(writers)}, got {path.name!r}")
    if not source.is_file() and source.suffix != ".npz":
        written = getattr(load_sweep(source), writers[path.suffix])(path, final=arguments.final)
    else:
        result = Result.load(source)
        if arguments.final:
            last = {label: trials.at_horizon() for label, trials in result.trials.items()}
            result = dataclasses.replace(result, trials=last)
        written = getattr(result, writers[path.suffix])(path)
    print("wrote", written, sep="\n  ")
    return 0
