"""Diagnostics of runs: meters that record what an algorithm's analysis speaks about, and confidence regions.

Give them to `simulate` or `compare` as `meters`: `linear.coverage()` records the estimation error over the confidence
radius, `glm.kappa()` the curvature of an instance, `coco.lemma_4` and `oco.worst_stability` how far a run uses up an
inequality of the analysis.
"""
