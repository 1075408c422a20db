"""Which samples a sweep computes: grids, lists, Latin hypercubes and random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.arguments import Seed, entry_of, public_methods
from dalembert.errors import DalembertError
from dalembert.values import MAPPING, NO_NUMBER, NUMBER, SEQUENCE

__all__ = ["Design"]

MOST_SAMPLES = 100_000_000


@public_methods
@dataclass(frozen=True)
class Design:
    """Values of all samples, one row for each.

    Attributes:
        names: what varies.
        table: (samples, names).
        axes: of a grid, the values along each of its axes; empty for all others.
        how: ``grid``, ``lists``, ``latin`` or ``random``.

    Example:
        design = da.Design.latin({"length": (0.5, 2.0), "mass": ("normal", 1.0, 0.1)}, 20, seed=1)
        data = da.sweep(da.library.pendulum(), design, 1.0, outputs=["final: pivot"])
    """

    names: tuple[str, ...]
    table: np.ndarray
    axes: tuple[np.ndarray, ...] = ()
    how: str = "lists"

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"<Design: {len(self)} samples of {', '.join(self.names)} ({self.how})>"

    def values(self, sample: int) -> dict[str, float]:
        """Values of one sample by name."""
        return dict(zip(self.names, map(float, entry_of("samples", self.table, sample)), strict=True))

    @classmethod
    def grid(cls, over: Mapping[str, Any]) -> Design:
        """Every combination of the values; a single number stays the same."""
        axes = {name: _numbers(name, values) for name, values in _checked(over).items()}
        count = math.prod(len(values) for values in axes.values())
        _count(count)
        mesh = np.meshgrid(*axes.values(), indexing="ij")
        table = np.stack([part.reshape(-1) for part in mesh], axis=1)
        return cls(tuple(axes), table, tuple(axes.values()), "grid")

    @classmethod
    def lists(cls, over: Mapping[str, Any]) -> Design:
        """The first values together, then the second ones, and so on."""
        columns = {name: _numbers(name, values) for name, values in _checked(over).items()}
        counts = {len(values) for values in columns.values() if len(values) != 1} or {1}
        if len(counts) > 1:
            listed = ", ".join(f"{name}: {len(values)}" for name, values in columns.items())
            raise DalembertError(f"lists of different lengths: {listed}.  Fix: as many values for each, or Design.grid")
        count = counts.pop()
        return cls(tuple(columns), np.stack([np.broadcast_to(v, count) for v in columns.values()], axis=1))

    @classmethod
    def latin(cls, over: Mapping[str, Any], samples: int, *, seed: Seed = 0) -> Design:
        """A Latin hypercube: each name takes each of ``samples`` equally probable intervals once.

        Args:
            over: distributions: ``(low, high)``, ``("uniform", low, high)``, ``("normal", mean, deviation)``,
                ``("triangular", low, mode, high)``, ``("lognormal", median, deviation of the logarithm)``, a frozen
                distribution of ``scipy.stats``, or a number.
            seed: of the random numbers.
        """
        rng, laws = np.random.default_rng(seed), _laws(over, samples)
        table = np.empty((samples, len(laws)))
        for k, law in enumerate(laws.values()):
            table[:, k] = law((rng.permutation(samples) + rng.uniform(size=samples)) / samples)
        return cls(tuple(laws), _finite(tuple(laws), table), how="latin")

    @classmethod
    def random(cls, over: Mapping[str, Any], samples: int, *, seed: Seed = 0) -> Design:
        """Independent random numbers (Monte Carlo); ``over`` as of ``latin``."""
        rng, laws = np.random.default_rng(seed), _laws(over, samples)
        table = np.stack([law(rng.uniform(size=samples)) for law in laws.values()], axis=1)
        return cls(tuple(laws), _finite(tuple(laws), table), how="random")


def _checked(over: Any) -> dict[str, Any]:
    if not isinstance(over, MAPPING) or not over:
        raise DalembertError(f"a sweep varies something.  Fix: over={{name: values}}, got {over!r}")
    wrong = [name for name in over if not isinstance(name, str)]
    if wrong:
        raise DalembertError(f"a sweep varies things by name, got {wrong[0]!r}")
    return dict(over)


def _count(samples: Any) -> None:
    if isinstance(samples, bool) or not isinstance(samples, int) or not 1 <= samples <= MOST_SAMPLES:
        raise DalembertError(f"samples must be a number from 1 to {MOST_SAMPLES}, got {samples!r}")


def _numbers(name: str, values: Any) -> np.ndarray:
    """One value or several, all finite."""
    if hasattr(values, "ppf") or (isinstance(values, SEQUENCE) and values and isinstance(values[0], str)):
        raise DalembertError(
            f"{name!r} has a distribution, which a grid or list cannot take.  "
            "Fix: da.Design.latin({…}, samples) or da.Design.random({…}, samples)"
        )
    try:
        found = np.atleast_1d(np.asarray(values, dtype=float))
    except NO_NUMBER:
        raise DalembertError(f"{name!r}: expected numbers, got {values!r}") from None
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all():
        raise DalembertError(f"{name!r}: expected one or more finite numbers, got {values!r}")
    return found


def _laws(over: Any, samples: Any) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Inverse distribution functions by name."""
    _count(samples)
    return {name: _law(name, given) for name, given in _checked(over).items()}


def _law(name: str, given: Any) -> Callable[[np.ndarray], np.ndarray]:
    if hasattr(given, "ppf"):
        return given.ppf
    if isinstance(given, NUMBER):
        return lambda p: np.full(len(p), float(given))
    if isinstance(given, SEQUENCE) and len(given) == 2 and all(isinstance(x, NUMBER) for x in given):
        given = ("uniform", *given)
    word, numbers = (given[0], given[1:]) if isinstance(given, SEQUENCE) and given else (None, ())
    if not (isinstance(word, str) and all(isinstance(x, NUMBER) and math.isfinite(x) for x in numbers)):
        word = None
    match word, *numbers:
        case "uniform", low, high if low <= high:
            return lambda p: low + (high - low) * p
        case "normal", mean, deviation if deviation >= 0:
            return lambda p: mean + deviation * _normal(p)
        case "lognormal", median, deviation if median > 0 and deviation >= 0:
            return lambda p: median * np.exp(deviation * _normal(p))
        case "triangular", low, mode, high if low <= mode <= high and low < high:
            return lambda p: _triangular(p, low, mode, high)
    raise DalembertError(
        f"{name!r}: {given!r} is not a distribution.  Fix: (low, high), ('uniform', low, high), ('normal', mean, "
        "deviation), ('triangular', low, mode, high), ('lognormal', median, deviation), or one of scipy.stats"
    )


def _normal(p: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    return ndtri(p)


def _triangular(p: np.ndarray, low: float, mode: float, high: float) -> np.ndarray:
    corner = (mode - low) / (high - low)
    rising = low + np.sqrt(p * (high - low) * (mode - low))
    return np.where(p < corner, rising, high - np.sqrt((1 - p) * (high - low) * (high - mode)))


def _finite(names: tuple[str, ...], table: np.ndarray) -> np.ndarray:
    bad = ~np.isfinite(table).all(axis=0)
    if bad.any():
        raise DalembertError(f"{names[int(np.argmax(bad))]!r}: its distribution gives values that are not finite")
    return table
