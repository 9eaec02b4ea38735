"""Speed through the public `simulate`, against good NumPy code in the same run: `python -m benchmarks.speed`."""
