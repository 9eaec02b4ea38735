"""A child of `benchmarks.gpu.first_run` that answers at once, without JAX; some items end it, or hang."""

import json
import os
import signal
import sys
import time
from typing import Any

DEVICE = {"kind": "NVIDIA H100 80GB HBM3", "platform": "gpu", "jax": "0.11.2", "cores": 16, "nvidia-smi": None}
RATE = {"seconds_per_round": 2e-5, "is_sound": True, "seconds_per_call": 1e-4, "compile_s": 1.0, "MB": 1.0}


def value_of(measure: str, item: str, settings: dict[str, Any]) -> Any:
    """Return a value of the form that `benchmarks.gpu.on_device` has for an item."""
    match measure:
        case "device" if item == "device":
            return DEVICE
        case "loops":
            return {"passes": item != "graph", "seconds": 1.0}
        case "numbers":
            import numpy as np

            from benchmarks.gpu.agreement import array_path

            np.save(array_path(settings["folder"], settings["computed"], item), np.ones((4, 8)).cumsum(axis=1))
            return {"metric": "regret", "failed": 0, "compile_s": 1.0}
        case "chains":
            return {"us a round": 1.0, "us a call": 2.0}
        case "bits":
            return "killed" if item == "killed" else {"equal": True}
        case "rate" | "cpu":
            width = int(item.rsplit(", ", 1)[1])
            return {"rounds_per_second": width / 2e-5, **RATE}
        case "precision":
            return {"x / y": 1.0} if item == "operations" else [1e-7, 2e-7]
        case _:
            return {}


def main(measure: str, settings: dict[str, Any], items: list[str]) -> None:
    if os.environ.get("PRETEND") == "no GPU":
        sys.exit("JAX found no GPU and took the CPU")
    for item in items:
        print("a library prints a line", json.dumps({"begin": item}), json.dumps(item), sep="\n", flush=True)
        if item in ("dies", "graph without CUBLAS"):
            sys.stderr.write("out of luck\n")
            os.kill(os.getpid(), signal.SIGSEGV)
        if item == "hangs":
            time.sleep(60)
        print(json.dumps({"item": item, "value": value_of(measure, item, settings)}), flush=True)
        if item == "answers and dies":
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3]))
