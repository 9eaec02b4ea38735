"""Numerical thresholds for words of the papers. A word has the same threshold in every experiment.

If a sentence contains a number ("800 times"), that number is the threshold. For words we chose the thresholds before
the runs that they judge:

    comparable, similar, close, competitive alongside   ratio of means within COMPARABLE times either way (equivalence)
    does not compromise, does not grow                   at most COMPARABLE times (non-inferiority)
    a modest price or increase                           at most MODEST times (non-inferiority)
    large, degrades, suffers                             above COMPARABLE times
    far ahead, poor, fails, significantly                by a factor of MUCH
    the time does not depend                             slope of log(time) in log(t) below FLAT, or within LITTLE times
    the time grows                                       that slope above GROWS
    very close, matches (risks)                          within 0.01 either way
    falls about as fast as T^a, or faster                slope of log(gap) in log(T) below a + FLAT
    always, in every trial                               a share of trials above `share_for_all(trials needed)`
"""

# Template of the reason why a claim cannot fail.
OUT_OF_REACH = "the bound at this horizon is above {most}, the largest possible value of {what}"
COMPARABLE, MODEST, MUCH = 1.5, 2.0, 2.0
FLAT, GROWS, LITTLE = 0.1, 0.5, 1.25


def share_for_all(trials: int) -> float:
    """Return the threshold for "all trials": the largest of 90, 98 and 99 % that this number of trials can establish.

    If all n trials succeed, the 95 % interval of the share begins at 0.025^(1/n).

    Args:
      trials: number of trials that the claim needs, at least 36.
    """
    return max(share for share in (0.9, 0.98, 0.99) if share < 0.025 ** (1 / trials))
