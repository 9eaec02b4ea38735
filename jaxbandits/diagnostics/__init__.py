"""Diagnostics of runs: meters for the quantities in the analysis of an algorithm, and confidence regions.

Meters are passed to `simulate` or `compare` as `meters`. For example, `linear.coverage()` records the ratio of the
estimation error to the confidence radius, and `glm.kappa()` records the curvature of an instance. The modules `coco`
and `oco` contain functions to be wrapped in a `Meter`, such as `coco.lemma_4` and `oco.worst_stability`, which return
the ratio or the difference of the two sides of an inequality of the analysis.
"""
