"""Measure the speed of the public `simulate`, and compare it with fast NumPy code: `python -m benchmarks.speed`."""
