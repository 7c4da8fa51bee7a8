"""What others do with the same numbers: the rules that this gate is compared with.

Each gets what its users give it: the pooled requests of one session, now and then.
"""

import numpy as np
from scipy.stats import mannwhitneyu

from tests.laboratory.simulation import Decision, Pairs


def mean_five_percent(now: Pairs, then: Pairs) -> Decision:
    """pytest-benchmark's ``--benchmark-compare-fail=mean:5%``: red when a mean time is 5 % above the stored one."""
    slower = np.exp(-now).mean(axis=(0, 2)) / np.exp(-then).mean(axis=(0, 2)) > 1.05
    return _decision(slower, now)


def mann_whitney(now: Pairs, then: Pairs) -> Decision:
    """Mann-Whitney on pooled requests at 5 %, the test of many benchmark dashboards: blocks are ignored."""
    p = [mannwhitneyu(_pooled(now, one), _pooled(then, one), alternative="less").pvalue for one in range(now.shape[1])]
    return _decision(np.array(p) < 0.05, now)


def bootstrap(now: Pairs, then: Pairs, rng: np.random.Generator, resamples: int = 400) -> Decision:
    """Red when the bootstrap 95 % interval of the ratio of means, over pooled requests, lies below 0.95."""
    slower = []
    for one in range(now.shape[1]):
        new, old = np.exp(_pooled(now, one)), np.exp(_pooled(then, one))
        ratios = rng.choice(new, (resamples, new.size)).mean(axis=1) / rng.choice(old, (resamples, old.size)).mean(
            axis=1
        )
        slower.append(np.quantile(ratios, 0.975) < 0.95)
    return _decision(np.array(slower), now)


def _pooled(pairs: Pairs, one: int) -> Pairs:
    return pairs[:, one].reshape(-1)


def _decision(slower: np.typing.NDArray[np.bool_], now: Pairs) -> Decision:
    red = frozenset(f"class{index}" for index in np.flatnonzero(slower))
    return Decision(red, green=not red, blocks=now.shape[0])
