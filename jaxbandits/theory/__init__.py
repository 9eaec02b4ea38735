"""Bounds of the papers' theorems as functions, most of them with all constants; one file per paper or topic."""
