"""Experiments: one folder for each of five papers and one for the classics, with one file per experiment."""
