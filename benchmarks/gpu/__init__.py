"""Compile programs for GPUs on a machine without a GPU, and count their operations: `python -m benchmarks.gpu`."""
