"""Theorems of the papers as functions that return explicit bounds with all constants; one file per paper or topic."""
