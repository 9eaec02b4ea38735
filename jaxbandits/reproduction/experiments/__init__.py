"""Experiments: one folder per paper, with one file per figure or theorem."""
