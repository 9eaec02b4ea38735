"""The weight update of the public group-DRO code, from its formula (kohpangwei/group_DRO `loss.py`, commit e80fe20):
batch means per group, 0 for a group without rows; q proportional to q exp(step mean), over *all* groups; and the *new*
q weighs the batch's loss. Some forks renormalise that weighing q over the groups present. The paper's SMD(m) uses the
old q for the model: its q alone is the public one.
"""

import numpy as np


def group_means(losses, group, m):
    """Mean loss of each group's rows, 0 where there are none, and the counts."""
    counts = np.bincount(group, minlength=m).astype(float)
    return np.bincount(group, losses, m) / np.where(counts > 0, counts, 1.0), counts


def update(q, losses, group, step):
    """The next q, which also weighs the loss of this batch."""
    means, _ = group_means(losses, group, len(q))
    q = q * np.exp(step * means)
    return q / np.sum(q)


def weighing_present(q, group):
    """The forks' weights of a batch: q over the groups that have rows in it."""
    _, counts = group_means(np.zeros(len(group)), group, len(q))
    q = q * (counts > 0)
    return q / np.sum(q)
