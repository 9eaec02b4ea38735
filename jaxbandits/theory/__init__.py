"""Theorems of the papers as functions: explicit bounds with all their constants, one file per paper."""
