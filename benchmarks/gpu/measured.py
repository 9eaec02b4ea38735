"""Write the tables of docs/gpus.md: estimates, and the measurements of `first_run`.

    python -m benchmarks.gpu.measured results/first_run/first_run.json

The results of a run on a GPU are committed as `benchmarks/gpu/first_run.json`, which is the default. Without this file
the page says that nothing was measured.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

from benchmarks.gpu.devices import GPUS
from benchmarks.gpu.estimate import ASSUMED, COUNTS, Costs, counts_path, fit, rounds_per_second
from benchmarks.gpu.programs import TABLE, TARGETS

DOCS, COMMITTED = Path(__file__).resolve().parents[2] / "docs", Path(__file__).with_name("first_run.json")
_WIDTHS = (8192, 262_144)
_OPTION_SETS = {  # descriptions of the keys of `LOOP_OPTIONS`
    "graph": "loops in CUDA graphs",
    "graph without CUBLAS": "loops without cuBLAS calls in graphs",
    "graph of fusions": "loops with only fusions in graphs",
    "host": "loops whose predicates the host reads",
}
_UNMEASURED = """\
Nothing was measured: these programs have not been run on a GPU. Open questions are whether the test of loops passes on
a given driver, whether conditional nodes cost more than kernels, and the effect of PTX's rounding in float32:
`div.full.f32`, `sqrt.approx.f32` and `rcp.approx.f32` are not correctly rounded, unlike the operations with which
[precision](precision.md) was measured.
"""


def render(page: str, found: dict[str, Any]) -> str:
    """Return docs/gpus.md with its tables of estimates and measurements.

    Args:
      page: current text of the page.
      found: record that `first_run` wrote; empty if it never ran on a GPU.
    """
    for name, text in (("estimated", estimates(found)), ("measured", measurements(found))):
        between = re.compile(rf"(<!-- {name} -->\n).*(<!-- /{name} -->)", re.DOTALL)
        page = between.sub(lambda match, text=text: match[1] + text + match[2], page)
    return page


def committed() -> dict[str, Any]:
    """Return the record in the committed file; empty if there is no file."""
    return json.loads(COMMITTED.read_text()) if COMMITTED.exists() else {}


def costs_of(found: dict[str, Any]) -> Costs:
    """Return the costs that a run fitted; the assumed costs if it fitted none."""
    costs = found.get("fit", {}).get("costs")
    return Costs(costs["node"], costs["share"]) if costs else ASSUMED


def gpu_of(found: dict[str, Any]) -> str | None:
    """Return the key in `GPUS` of the device of a run, by the first two words of its name; None for other devices."""
    kind = found.get("facts", {}).get("device", {}).get("kind", "")
    return next((key for key, gpu in GPUS.items() if kind.startswith(" ".join(gpu.name.split()[:2]))), None)


def counts_of(found: dict[str, Any]) -> dict[str, Any]:
    """Return the counts at 8192 trials by program, for the device and the version of JAX of a run."""
    key = gpu_of(found)
    if key is None:
        return {}
    counts = json.loads(counts_path(found["facts"]["device"]["jax"]).read_text())
    compiled_for = next(other for other, gpu in GPUS.items() if gpu.sm == GPUS[key].sm)
    return {name: counts[at] for name in TABLE if (at := f"{name}, {compiled_for}, 8192") in counts}


def fit_costs(found: dict[str, Any]) -> dict[str, Any]:
    """Return the fitted costs, and for each "program, width" the ratios of the measured rate to both estimates.

    The costs are fitted to programs without loops in a round, since the number of steps of a loop depends on the data.

    Args:
      found: record of a run; nothing is fitted to fewer than four rates, or without counts.
    """
    counts, key = counts_of(found), gpu_of(found)
    rows = []
    for item, rate in _values(found, "rates graph").items():
        name, width = item.rsplit(", ", 1)
        if name in counts and rate["is_sound"]:
            rows.append((item, int(width), counts[name], rate))
    fitted = [row for row in rows if not row[2]["loops"]]
    if key is None or len(fitted) < 4:
        return {}
    gpu = GPUS[key]
    _, widths, programs, rates = zip(*fitted, strict=True)
    costs = fit(gpu, widths, programs, [rate["seconds_per_round"] for rate in rates])
    multiples = {
        item: {
            "of assumed": rate["rounds_per_second"] / rounds_per_second(gpu, width, program),
            "of fitted": rate["rounds_per_second"] / rounds_per_second(gpu, width, program, costs),
        }
        for item, width, program, rate in rows
    }
    return {"costs": costs._asdict() | {"rates": len(fitted)}, **multiples}


def estimates(found: dict[str, Any]) -> str:
    """Return the table of estimates, with the costs that a run fitted if there are any."""
    costs, counts = costs_of(found), json.loads(COUNTS.read_text())
    constants = f"c = {1e6 * costs.node:.3g} us and share = {costs.share:.2g}"
    if costs == ASSUMED:
        text = f"The constants are assumptions: {constants}.\n\n"
    else:
        n = found["fit"]["costs"]["rates"]
        text = (
            f"The constants, {constants}, were fitted to {n} rates of programs without inner loops on one "
            f"{_device(found)['kind']}.\n\n"
        )
    head = ["million rounds per second, estimated"]
    for key in ("h100", "a100", "t4"):
        head += [f"{key.upper()}, W = {width:,}" for width in _WIDTHS]
    rows = []
    for name in TABLE:
        cells = [name]
        for key in ("h100", "a100", "t4"):
            program = counts[f"{name}, {key}, 8192"]
            cells += [_million(rounds_per_second(GPUS[key], width, program, costs)) for width in _WIDTHS]
        rows.append(cells)
    return text + _table(head, rows)


def measurements(found: dict[str, Any]) -> str:
    """Return all measurements of a run next to the estimates; parts that the run did not reach are missing."""
    if not _device(found):
        return _UNMEASURED
    parts = [
        _facts,
        _rates,
        _findings,
        _compilation,
        _agreement,
        _learners,
        _bits,
        _chains,
        _rounding,
        _errors,
        _left_out,
    ]
    return "\n".join(text for part in parts if (text := part(found)))


def _facts(found: dict[str, Any]) -> str:
    device, first = _device(found), found["facts"].get("first simulate", {})
    machine = f"one {device['kind']} (jax {device['jax']}, {device['cores']} CPU cores)"
    text = f"`python -m benchmarks.gpu.first_run` on {machine}."
    if loops := found.get("loops"):
        results = ", ".join(f"{_OPTION_SETS.get(option, option)} ({_passes(x)})" for option, x in loops.items())
        text += f" The test of loops was run with several sets of XLA options: {results}."
    if "form" in first:
        text += f" The first `simulate` chose the form `{first['form']}` after {first['seconds']:.0f} s."
    return text + "\n"


def _passes(x: dict[str, Any]) -> str:
    return "passes" if x.get("passes") else f"does not pass, {x['error'].split(':')[0]}" if "error" in x else "fails"


def _rates(found: dict[str, Any]) -> str:
    form = found.get("choice", {}).get("form", "graph")
    other = "blocks" if form == "graph" else "graph"
    rates, others, cpu = (_values(found, f"rates {section}") for section in (form, other, "cpu"))
    if not rates:
        return ""
    cores, key = _device(found)["cores"], gpu_of(found)
    counts, costs = counts_of(found), costs_of(found)
    widths = sorted({int(item.rsplit(", ", 1)[1]) for item in rates})
    head = ["million rounds per second"]
    for width in widths:
        head += [f"W = {width:,}, estimated", "measured"]
    head += [f"in {other}, W = {_WIDTHS[0]:,}", "one CPU core", f"{cores} CPU cores"]
    rows = []
    for name in TABLE:
        cells = [name]
        for width in widths:
            known = key is not None and name in counts and form == "graph"
            estimate = _million(rounds_per_second(GPUS[key], width, counts[name], costs)) if known and key else ""
            cells += [estimate, _rate(rates, f"{name}, {width}")]
        cells += [_rate(others, f"{name}, {_WIDTHS[0]}"), _rate(cpu, f"{name}, 1"), _rate(cpu, f"{name}, {cores}")]
        if any(cells[1:]):
            rows.append(cells)
    return f"Programs in the form `{form}`:\n\n{_table(head, rows)}"


def _findings(found: dict[str, Any]) -> str:
    """Return the programs below their targets, slower than the CPU, or more than a factor of 2 from the estimate."""
    form, cores = found.get("choice", {}).get("form", "graph"), _device(found)["cores"]
    cpu = {item: x["rounds_per_second"] for item, x in _values(found, "rates cpu").items()}
    best: dict[str, float] = {}
    for item, x in _values(found, f"rates {form}").items():
        name = item.rsplit(", ", 1)[0]
        best[name] = max(best.get(name, 0.0), x["rounds_per_second"])
    missed = [name for name, rate in best.items() if rate < TARGETS.get(name, 0.0)]
    lines = []
    if best:
        lines.append(
            f"* Programs that miss their target at every width: {_names(missed)}. Six programs have a target, 50 "
            "million rounds per second for Hvt-UCB and 100 million for the others."
        )
    if best and cpu:
        for n, label in ((1, "one CPU core"), (cores, f"{cores} CPU cores")):
            slower = [name for name, rate in best.items() if rate < cpu.get(f"{name}, {n}", 0.0)]
            lines.append(f"* Programs that are slower than {label} at every width: {_names(slower)}.")
    multiples = {item: x["of fitted"] for item, x in found.get("fit", {}).items() if item != "costs"}
    if multiples:
        far = [
            f"{' at W = '.join(item.rsplit(', ', 1))} ({x:.2g})" for item, x in multiples.items() if not 0.5 <= x <= 2.0
        ]
        lines.append(
            "* Rates that differ from the estimate by more than a factor of 2 (measured / estimated in brackets): "
            f"{_names(far)}."
        )
    return "\n".join(lines) + "\n" if lines else ""


def _names(items: list[str]) -> str:
    return ", ".join(items) or "none"


def _compilation(found: dict[str, Any]) -> str:
    rates = _values(found, f"rates {found.get('choice', {}).get('form', 'graph')}")
    widths = sorted({int(item.rsplit(", ", 1)[1]) for item in rates})
    head = ["program", *(f"W = {width:,}: {column}" for width in widths for column in ("seconds to compile", "MB"))]
    rows = []
    for name in TABLE:
        here = [rates.get(f"{name}, {width}", {}) for width in widths]
        if any(here):
            cells = [(f"{x['compile_s']:.1f}", f"{x['MB']:,.0f}") if x else ("", "") for x in here]
            rows.append([name, *(cell for pair in cells for cell in pair)])
    text = (
        "Compilation times, and the memory of one call of the program, which holds arguments, results and temporary "
        "arrays:\n\n"
    )
    return text + _table(head, rows) if rows else ""


def _agreement(found: dict[str, Any]) -> str:
    by_program = {name: x for name, x in _agreements(found).items() if "/" not in name}
    if not by_program:
        return ""
    rows = []
    for name, by_precision in by_program.items():
        cells = [name]
        for precision in ("float32", "float64"):
            forms = by_precision.get(precision, [])
            largest = [x["largest difference"] for x in forms if x["largest difference"] is not None]
            parts = [x["share that parts"] for x in forms]
            cells.append(f"{max(largest):.1e}" if largest else "")
            cells.append(f"{100 * max(parts):.1f} %" if parts else "")
        rows.append(cells)
    head = [
        "program",
        "float32: largest difference",
        "trials that diverge",
        "float64: largest difference",
        "trials that diverge",
    ]
    text = (
        "The same trials were run on the GPU in both forms, and on the CPU of that machine. If rounding decides "
        "between two plays of nearly equal value, a trial may diverge from that on the CPU. The table shows the share "
        "of trials that diverge and, for all other trials, the largest relative difference of final metrics:\n\n"
    )
    failed = [
        f"{item} ({section.removeprefix('numbers ')}: {x['failed']})"
        for section in found
        if section.startswith("numbers")
        for item, x in _values(found, section).items()
        if x["failed"]
    ]
    return text + _table(head, rows) + f"\nTrials that failed: {_names(failed)}.\n"


def _agreements(found: dict[str, Any]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the comparisons with the CPU by program and precision."""
    by_program: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for item, x in found.get("agreement", {}).items():
        name, _, precision = item.rsplit(", ", 2)
        by_program.setdefault(name, {}).setdefault(precision, []).append(x)
    return by_program


def _learners(found: dict[str, Any]) -> str:
    """Return a paragraph on the agreement of learners on their examples (`first_run --every-learner`)."""
    learners = {name: x for name, x in _agreements(found).items() if "/" in name}
    if not learners:
        return ""

    def largest(precision: str) -> float:
        compared = [x for forms in learners.values() for x in forms.get(precision, [])]
        return max((x["largest difference"] or 0.0 for x in compared), default=0.0)

    apart = {name: max(x["share that parts"] for xs in forms.values() for x in xs) for name, forms in learners.items()}
    named = [f"{name} ({100 * share:.0f} %)" for name, share in apart.items() if share > 0.0]
    return (
        f"{len(learners)} registered learners were run on the small problems that their classes define by `example()`, "
        f"with single trials in float32 and batches in float64. The largest relative differences from the CPU are "
        f"{largest('float32'):.0e} and {largest('float64'):.0e}, apart from trials that diverge because rounding "
        f"decided between two plays. Learners with such trials (in brackets the share of these trials): "
        f"{_names(named)}.\n"
    )


def _bits(found: dict[str, Any]) -> str:
    bits = _values(found, "bits")
    runs = {"same seeds twice": "Two runs with the same seeds", "resumed": "A resumed run and an uninterrupted one"}
    said = [
        f"{runs.get(item, item)} gave {'equal' if x['equal'] else 'different'} bits."
        for item, x in bits.items()
        if isinstance(x, dict)
    ]
    return f"{' '.join(said)}\n" if said else ""


def _chains(found: dict[str, Any]) -> str:
    chains = _values(found, "chains")
    rows = [[item, f"{x['us a round']:.2f}", f"{x['us a call']:.0f}"] for item, x in chains.items()]
    head = ["round of the timed loop", "us per round", "fixed us per call"]
    caption = (
        "Times of a loop whose rounds consist of small kernels, each of which reads the result of the previous one. In "
        "some cases a round also has an inner loop of one step (`loop`) or a branch (`branch`), or the host reads the "
        "predicate of the loop (`host`). The time of a call is modelled as a fixed time plus a time per round, from "
        "calls with 500 and 2,000 rounds; the fixed time is an extrapolation, and inaccurate:\n\n"
    )
    return caption + _table(head, rows) if rows else ""


def _rounding(found: dict[str, Any]) -> str:
    rounding = _values(found, "rounding")
    operations = rounding.pop("operations", {})
    text = ""
    if operations:
        errors = ", ".join(f"{name} {x:.2f}" for name, x in operations.items())
        text += f"The largest errors of operations in float32, in units in the last place: {errors}.\n\n"
    page = (DOCS / "precision.md").read_text()
    rows = []
    for item, (early, late) in rounding.items():
        domain, learner = item.split(": ")
        row = re.search(rf"^\| {re.escape(learner)} \| {re.escape(domain)} \|(.*)\|(.*)\|$", page, re.MULTILINE)
        on_cpu = [cell.strip() for cell in row.groups()] if row else ["", ""]
        rows.append([item, on_cpu[0], f"{early:.1e}", on_cpu[1], f"{late:.1e}"])
    head = ["learner", "200 rounds, CPU", "200 rounds, GPU", "2000 rounds, CPU", "2000 rounds, GPU"]
    caption = (
        "Largest relative distances between the plays in float32 and in float64, measured as in "
        "[precision](precision.md#online-learners):\n\n"
    )
    return text + (caption + _table(head, rows) if rows else "")


def _errors(found: dict[str, Any]) -> str:
    errors = [
        f"* {section}: {item}: {x['error']}\n"
        for section, items in found.items()
        for item, x in items.items()
        if isinstance(x, dict) and "error" in x
    ]
    return f"Errors:\n\n{''.join(errors)}" if errors else ""


def _left_out(found: dict[str, Any]) -> str:
    left_out = {section: items for section, items in found.get("left out", {}).items() if items}
    said = [f"{section} ({', '.join(items)})" for section, items in left_out.items()]
    return f"Not measured for lack of time: {'; '.join(said)}.\n" if said else ""


def _device(found: dict[str, Any]) -> dict[str, Any]:
    return _values(found, "facts").get("device", {})


def _values(found: dict[str, Any], section: str) -> dict[str, Any]:
    """Return the values of a section, without items that failed."""
    items = found.get(section, {}).items()
    return {item: value for item, value in items if not (isinstance(value, dict) and "error" in value)}


def _rate(rates: dict[str, Any], item: str) -> str:
    return _million(rates[item]["rounds_per_second"]) if item in rates and rates[item]["is_sound"] else ""


def _million(rate: float) -> str:
    return f"{rate / 1e6:,.0f}" if rate >= 1e7 else f"{rate / 1e6:.2g}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.measured")
    parser.add_argument("path", type=Path, nargs="?", metavar="FILE", help="file first_run.json of a run on a GPU")
    path = parser.parse_args().path
    found = json.loads(path.read_text()) if path else committed()
    if found and _device(found).get("platform") in (None, "cpu"):
        raise SystemExit(f"{path} is from a rehearsal on a CPU; docs/gpus.md has only measurements on a GPU")
    page = DOCS / "gpus.md"
    page.write_text(render(page.read_text(), found))


if __name__ == "__main__":
    main()
