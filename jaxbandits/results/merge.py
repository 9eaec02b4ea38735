"""Merging of results of the same job that were run on different seeds or at different points."""

import collections
import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxbandits.analysis.info import RunInfo, TimingInfo, UntilInfo
from jaxbandits.analysis.trials import Trials
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.exact import exact_key
from jaxbandits.base.foreign import lack_of_identity
from jaxbandits.results.result import Result

_LONGEST = 60  # largest number of characters of a value in a message
_RULE = ("metric", "level", "looks", "margin", "seeds_per_look")  # entries of `UntilInfo` that make the rule


def merge(results: Sequence[Result]) -> Result:
    """Merge results; trials with the same label are joined over points and seeds.

    The bits of every trial are unchanged, so that shards that differ only in `first_seed` merge into the result of a
    single run.

    If seeds were added until pairs were decided (`compare(..., until=...)`), the merged result keeps the rule, and the
    decisions on pairs that only one of the results has. The intervals of `pairs` account for one stop: if several runs
    of the same pair stopped independently, they can be too short.

    Args:
      results: at least one result. All must have the same base seed, and those with a rule of `until` must have the
        same rule. Results that share a label must have the same job for this label: specification, record points and
        metrics. After merging, every point of a label must have the same seeds.

    Raises:
      InputError: if jobs differ, if two results have different values for the same trial, if a point lacks seeds, or if
        digests do not identify the code of a shared label (see `Options.identity`). The message names the label and the
        difference.
    """
    if not isinstance(results, (list, tuple)) or not results or not all(isinstance(r, Result) for r in results):
        raise InputError(f"merge needs a list of results, got {format_value(results)}")
    for label in dict.fromkeys(label for result in results for label in result):
        parts = [result[label] for result in results if label in result.trials]
        if len(parts) > 1:
            _check_identified(label, parts)
    return join(results)


def _check_identified(label: str, parts: Sequence[Trials]) -> None:
    """Raise an error for results whose code is not identified by the digests of their programs."""
    for part in parts:
        if "programs" not in part.spec:
            raise InputError(f"cannot merge: {label} was saved without the digests of its programs; run it again")
        if why := lack_of_identity(part.spec):
            raise InputError(f"cannot merge: {why}")


def join(results: Sequence[Result]) -> Result:
    """Merge results that one process computed, so that the same code computed all of them.

    Raises:
      InputError: as for `merge`, except that digests need not identify the code.
    """
    info = results[0].info
    for other in results[1:]:
        _same("base_seed", info.get("base_seed"), other.info.get("base_seed"), None)
    labels = dict.fromkeys(label for result in results for label in result)
    trials = {label: _join(label, [r[label] for r in results if label in r.trials]) for label in labels}
    walls = [result.info["wall_s"] for result in results if "wall_s" in result.info]
    starts = [result.info["started_unix_s"] for result in results if "started_unix_s" in result.info]
    if walls:
        info = info | RunInfo(wall_s=sum(walls))
    if starts:
        info = info | RunInfo(started_unix_s=min(starts))
    if untils := [result.info["until"] for result in results if "until" in result.info]:
        info = info | RunInfo(until=_join_untils(untils))
    return Result(trials, info)


def _join_untils(untils: Sequence[UntilInfo]) -> UntilInfo:
    """Return the common stopping rule of several runs, with the pairs that only one of them compared.

    Raises:
      InputError: if the rules differ, since no interval takes several rules into account.
    """
    first = untils[0]
    for other in untils[1:]:
        for name in _RULE:
            _same(f"until.{name}", first[name], other[name], None)
    pairs = [pair for until in untils for pair in until["pairs"]]
    runs = collections.Counter((pair["first"], pair["second"]) for pair in pairs)
    once = [pair for pair in pairs if runs[pair["first"], pair["second"]] == 1]
    return {**first, "look": max(until["look"] for until in untils), "pairs": once}


def _join(label: str, parts: Sequence[Trials]) -> Trials:
    first = parts[0]
    programs = dict(first.spec.get("programs", {}))
    for other in parts[1:]:
        for field in dict.fromkeys([*first.spec, *other.spec]):
            if field not in ("digest", "programs"):
                _same(field, first.spec.get(field), other.spec.get(field), label)
        if first.spec.get("digest") != other.spec.get("digest"):  # of circumstances that are not in the specification
            raise InputError(
                f"cannot merge: results of {label} differ in their precision, the settings of JAX, the kind of device, "
                "the version of jaxbandits or of a package that it uses, or the types of numbers (1 and 1.0)"
            )
        for point in programs.keys() & other.spec.get("programs", {}).keys():
            if programs[point] != other.spec["programs"][point]:
                raise InputError(
                    f"cannot merge: two different programs computed {label}; the code, or a value that it reads "
                    "while it is traced, has changed between the runs"
                )
        programs |= other.spec.get("programs", {})
        _same("record points", first.record_points.tolist(), other.record_points.tolist(), label)
        _same("metrics", tuple(first.values), tuple(other.values), label)
        _same("swept fields", list(first.points[0]), list(other.points[0]), label)
        _same("units", first.units, other.units, label)
        for metric in first.values:
            mine, its = ((t.axis_names(metric), t.values[metric].shape[3:]) for t in (first, other))
            _same(f"axes of {metric}", mine, its, label)
    keyed = {key: point for part in parts for key, point in zip(_keys(part.points), part.points, strict=True)}
    points = list(keyed.values())
    position = {key: h for h, key in enumerate(keyed)}
    seeds = np.unique(np.concatenate([part.seeds for part in parts]))
    shape = (len(points), len(seeds))
    names = {"healthy": first.healthy, "inadmissible": first.inadmissible, **first.values}
    joined = {name: np.empty((*shape, *array.shape[2:]), array.dtype) for name, array in names.items()}
    filled = np.zeros(shape, bool)
    for part in parts:
        cells = np.ix_([position[key] for key in _keys(part.points)], np.searchsorted(seeds, part.seeds))
        twice = filled[cells]
        for name, array in joined.items():
            given = {"healthy": part.healthy, "inadmissible": part.inadmissible, **part.values}[name]
            if not np.array_equal(array[cells][twice], given[twice], equal_nan=array.dtype.kind == "f"):
                raise InputError(
                    f"cannot merge: trials that several results contain must be equal, but results of {label} have "
                    f"other values of {name!r} for the same points and seeds"
                )
            array[cells] = given
        filled[cells] = True
    if not filled.all():
        h, s = np.argwhere(~filled)[0]
        missing = f"{int((~filled).sum()):,} of {filled.size:,} trials, such as seed {seeds[s]} of point {points[h]}"
        raise InputError(f"cannot merge: {label} lacks {missing}")
    healthy, inadmissible = joined.pop("healthy"), joined.pop("inadmissible")
    timing = _timing([part.timing for part in parts])
    spec = first.spec | ({"programs": programs} if programs else {})
    return dataclasses.replace(
        first,
        spec=spec,
        values=joined,
        points=tuple(points),
        seeds=seeds,
        healthy=healthy,
        inadmissible=inadmissible,
        timing=timing,
    )


def point_key(point: Mapping[str, Any]) -> Hashable:
    """Return a key of a point, equal only for points whose values have equal types and bits."""
    return exact_key(tuple(point.items()))


def _keys(points: Sequence[Mapping[str, Any]]) -> list[Hashable]:
    """Return different keys of points; of equal points in a grid, the i-th one has the number i in its key."""
    found, seen = [], collections.Counter[Hashable]()
    for key in map(point_key, points):
        found.append((key, seen[key]))
        seen[key] += 1
    return found


def _same(field: str, first: object, second: object, label: str | None) -> None:
    """Raise an error that names the innermost field in which two values differ; `label` None stands for the results."""
    if first == second:
        return
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for name in dict.fromkeys([*first, *second]):
            _same(f"{field}.{name}", first.get(name), second.get(name), label)
    one, other = _excerpts(repr(first), repr(second))
    have = "they have" if label is None else f"{label} has"
    raise InputError(f"cannot merge: results must have the same {field}, but {have} {one} and {other}")


def _excerpts(first: str, second: str) -> tuple[str, str]:
    """Shorten two different texts to 60 characters around the first place at which they differ."""
    if max(len(first), len(second)) <= _LONGEST:
        return first, second
    common = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    start = max(0, common - _LONGEST // 2)

    def cut(text: str) -> str:
        part = text[start : start + _LONGEST]
        return "..." * (start > 0) + part + "..." * (start + _LONGEST < len(text))

    return cut(first), cut(second)


def _timing(parts: Sequence[TimingInfo]) -> TimingInfo:
    """Add up the costs of parts and join the records of their batches; missing entries are omitted."""
    if not any(parts):
        return TimingInfo()
    return TimingInfo(
        compile_s=sum(part.get("compile_s", 0.0) for part in parts),
        run_s=sum(part.get("run_s", 0.0) for part in parts),
        rounds=sum(part.get("rounds", 0) for part in parts),
        ns_per_round=[ns for part in parts for ns in part.get("ns_per_round", ())],
    )
