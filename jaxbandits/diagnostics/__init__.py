"""Diagnostics of runs: meters for the quantities in the analysis of an algorithm, and confidence regions.

Pass them to `simulate` or `compare` as `meters`: `linear.coverage()` records the estimation error over the confidence
radius, `glm.kappa()` the curvature of an instance, and `coco.lemma_4` and `oco.worst_stability` the ratio or difference
of the two sides of an inequality of the analysis.
"""
