"""Student's t distribution, without further packages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

CONFIDENCE = 0.95
_EXACT_DEGREES = 1000
_NORMAL_QUANTILE = 1.959963984540054


def _within(t: float, degrees: int) -> float:
    """P(|T| < t): the finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = math.atan2(t, math.sqrt(degrees))
    cosine = math.cos(angle)
    odd = degrees % 2
    term, total = (cosine, cosine) if odd else (1.0, 1.0)
    if degrees == 1:
        total = 0.0
    for power in range(2 + odd, degrees - 1, 2):
        term *= cosine * cosine * (power - 1) / power
        total += term
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total


@lru_cache(maxsize=4096)
def t_quantile(degrees: int) -> float:
    """The 97.5 % quantile, which bounds a two-sided 95 % interval; `degrees` is at least 1."""
    if degrees > _EXACT_DEGREES:
        # Two terms of Cornish and Fisher's expansion; the error is below 1e-6 here.
        z = _NORMAL_QUANTILE
        return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
    low, high = 1.0, 16.0
    for _ in range(64):
        middle = (low + high) / 2
        if _within(middle, degrees) < CONFIDENCE:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def relative_half_width(values: Sequence[float]) -> float:
    """Half of the mean's 95 % interval over the mean: infinite if this cannot be said.

    It cannot be said for fewer than two values, or if the mean is zero: an event that was not seen
    may still be possible.
    """
    count = len(values)
    if count < 2:
        return math.inf
    mean = math.fsum(values) / count
    if mean == 0 or not math.isfinite(mean):
        return math.inf
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return t_quantile(count - 1) * math.sqrt(variance / count) / abs(mean)
