"""Programs that are counted and measured for GPUs: cases of the speed table, and all algorithms on their examples."""

from collections.abc import Callable
from typing import Any

TABLE = (  # rows of docs/gpus.md in their order
    "ogd d=10", "oful d=2 K=50", "oful d=10 K=20", "hvt_ucb d=2 K=50", "hvt_ucb d=10 K=20", "menu d=2 K=50",
    "glb_omd d=2 K=20", "oons d=2", "oons d=5", "ca_oons d=2", "smd d=10 m=10", "ofw_tvc d=10", "online d=10 m=10",
    "ucb1 K=10",
)  # fmt: skip
TARGETS = {  # rounds a second that an H100 must reach at some width
    "ucb1 K=10": 1e8,
    "ogd d=10": 1e8,
    "oons d=2": 1e8,
    "glb_omd d=2 K=20": 1e8,
    "oful d=2 K=50": 1e8,
    "hvt_ucb d=2 K=50": 5e7,
}


def builders() -> dict[str, Callable[[], Any]]:
    """Return, by name, functions that build a pair of algorithm and environment."""
    from benchmarks.speed.cases import CASES, build
    from jaxbandits.algorithms import ALGORITHMS
    from jaxbandits.environments import ENVIRONMENTS

    def example(name: str) -> Any:
        return ALGORITHMS[name].example, ENVIRONMENTS[ALGORITHMS[name].environments[0]].example

    cases = {case.name: lambda case=case: build(case) for case in CASES}
    return cases | {name: lambda name=name: example(name) for name in ALGORITHMS}


LOOP_OPTIONS: dict[str, dict[str, Any]] = {  # changes of `gpu_graphs.OPTIONS`; the first that passes is used
    "graph": {},
    "graph without CUBLAS": {"xla_gpu_enable_command_buffer": "FUSION,CUSTOM_CALL,CONDITIONAL,WHILE"},
    "graph of fusions": {"xla_gpu_enable_command_buffer": "FUSION,CONDITIONAL,WHILE"},
    "host": {"xla_gpu_enable_command_buffer": "FUSION,CUBLAS,CUSTOM_CALL"},  # it reads every predicate
}
CHAINS = {  # small programs that show the cost of a node: kernels, last operation, key of `LOOP_OPTIONS`
    "4 kernels": (4, "", "graph"),
    "32 kernels": (32, "", "graph"),
    "4 kernels, loop": (4, "loop", "graph"),
    "4 kernels, branch": (4, "branch", "graph"),
    "4 kernels, host": (4, "", "host"),
}
