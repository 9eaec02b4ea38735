"""The engine of experiments: their declaration, run, statistics and claims; it knows no particular experiment."""
