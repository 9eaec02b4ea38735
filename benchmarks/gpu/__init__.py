"""Programs for GPUs, compiled without one and counted: `python -m benchmarks.gpu`."""
