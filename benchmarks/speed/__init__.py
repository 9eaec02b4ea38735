"""Speed through the public `simulate`, beside good NumPy code in the same run: `python -m benchmarks.speed`."""
