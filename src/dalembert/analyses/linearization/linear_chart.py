"""Linear models over a parameter or along a run, with modes followed from one to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.analyses.linearization.linear_model import LinearModel
from dalembert.arguments import entry_of, public_methods
from dalembert.errors import DalembertError, index_of

__all__ = ["Crossing", "LinearChart"]

CONVERGED = 1e-13  # relative, of a parameter where a real part vanishes
MOST_STEPS = 80


@dataclass(frozen=True)
class Crossing:
    """Where a mode becomes stable or unstable.

    Attributes:
        value: of the parameter.
        eigenvalue: there; its real part is zero.
        mode: number of the mode in the chart.
        becomes: ``stable`` or ``unstable``, as the parameter increases.
    """

    value: float
    eigenvalue: complex
    mode: int
    becomes: str

    @property
    def oscillates(self) -> bool:
        """True if a pair of eigenvalues crosses (Hopf), False if a real one does."""
        return self.eigenvalue.imag != 0

    def __str__(self) -> str:
        how = f"oscillating at {abs(self.eigenvalue.imag):.6g} rad/s" if self.oscillates else "real"
        return f"{self.value:.12g}: becomes {self.becomes}, {how}"


@public_methods
@dataclass(frozen=True)
class LinearChart:
    """Linear models over one parameter, or over time.

    Attributes:
        parameter: its name.
        values: where.
        models: one for each value.

    Example:
        chart = da.linearize_over(da.library.cart_pendulum(), "length", [0.5, 1.0, 2.0], at={"hinge": 0.0})
        chart.plot("chart.png")
    """

    parameter: str
    values: np.ndarray
    models: list[LinearModel]

    def __getitem__(self, at: int) -> LinearModel:
        return entry_of("linear models", self.models, at)

    def __len__(self) -> int:
        return len(self.models)

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """One row for each value, one column for each mode; motions that are neutral throughout are left out."""
        return self._followed[0]

    @property
    def vectors(self) -> np.ndarray:
        """Eigenvectors: value × state × mode."""
        return self._followed[1]

    @cached_property
    def _followed(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and vectors in the order of the first value, each matched with the nearest of the last one."""
        import scipy.optimize

        optimize: Any = scipy.optimize
        found = [_pairs(model) for model in self.models]
        size = max((len(values) for values, _ in found), default=0)
        values = np.full((len(found), size), np.nan + 0j)
        vectors = np.full((len(found), len(self.models[0].states), size), np.nan + 0j)
        last: np.ndarray | None = None
        for k, (now, shapes) in enumerate(found):
            order = np.arange(len(now))
            if last is not None:
                expected = last if k < 2 else last + _trend(values[k - 2], last, self.values[k - 2 : k + 1])
                cost = np.abs(expected[:, None] - now[None, :])
                places, order_of = optimize.linear_sum_assignment(np.nan_to_num(cost, nan=1e6))
                order = np.empty(len(now), dtype=int)
                order[places[: len(now)]] = order_of
            values[k, : len(now)], vectors[k, :, : len(now)] = now[order], shapes[:, order]
            last = values[k]
        return values, vectors

    def crossings(self) -> list[Crossing]:
        """Values of the parameter at which a real part passes zero, refined to all digits."""
        if self.parameter == "time":
            raise DalembertError("crossings: a run has no parameter that could be changed.  Fix: da.linearize_over")
        found: list[Crossing] = []
        real = np.real(self.eigenvalues)
        for mode in range(real.shape[1]):
            for k in range(len(self.values) - 1):
                before, after = real[k, mode], real[k + 1, mode]
                if np.sign(before) != np.sign(after) and before != 0 and self.eigenvalues[k, mode].imag >= 0:
                    value, eigenvalue = self._refined(k, mode)
                    found.append(Crossing(value, eigenvalue, mode, "stable" if after < before else "unstable"))
        return sorted(found, key=lambda crossing: crossing.value)

    def _refined(self, k: int, mode: int) -> tuple[float, complex]:
        """The root of a real part between two values; the eigenvalue nearest to where it should be is followed."""
        import scipy.optimize

        optimize: Any = scipy.optimize
        a, b = self.values[k], self.values[k + 1]
        ends = self.eigenvalues[k, mode], self.eigenvalues[k + 1, mode]

        def at(x: float) -> complex:
            expected = ends[0] + (ends[1] - ends[0]) * (x - a) / (b - a)
            values, _ = _pairs(self.models[k].again({self.parameter: float(x)}))
            return complex(values[np.argmin(np.abs(values - expected))])

        def real(x: float) -> float:
            return at(x).real

        within = CONVERGED * max(abs(a), abs(b))
        x = float(optimize.brentq(real, a, b, xtol=within, maxiter=MOST_STEPS))
        crossing = at(x)
        return x, complex(0.0, crossing.imag)

    def without(self, *states: str) -> LinearChart:
        """The same with the effect of some states ignored (see ``LinearModel.without``)."""
        return LinearChart(self.parameter, self.values, [model.without(*states) for model in self.models])

    def ratio(self, numerator: str, denominator: str) -> np.ndarray:
        """Quotient of two states in every mode, e.g. steer over lean: complex, one row for each value."""
        states = self.models[0].states
        top, bottom = (
            self.vectors[:, index_of("ratio: unknown state", name, states)] for name in (numerator, denominator)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            return top / bottom

    # Pictures

    def plot(self, path: str | Path | None = None, **options: Any) -> Any:
        """Real and imaginary parts of all eigenvalues over the parameter; where all decay is shaded."""
        from dalembert.view.linear_plots import eigenvalue_chart

        return _written(lambda: eigenvalue_chart(self, **options), path)

    def plot_ratio(self, numerator: str, denominator: str, path: str | Path | None = None) -> Any:
        """Magnitude and phase of a quotient of two states, e.g. steer over lean, in every mode."""
        from dalembert.view.linear_plots import ratio_chart

        return _written(lambda: ratio_chart(self, numerator, denominator), path)


def _written(draw: Callable[[], Any], path: str | Path | None) -> Any:
    from dalembert.view import with_file

    return with_file(draw(), path)


def _pairs(model: LinearModel) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues that are not exact zeros, both of each conjugate pair, with their vectors."""
    values, vectors = [], []
    for value, right, _ in model.spectrum.modes():
        if value == 0:
            continue
        values.append(value)
        vectors.append(right)
        if value.imag:
            values.append(value.conjugate())
            vectors.append(right.conj())
    n = len(model.states)
    return np.array(values, dtype=complex), np.array(vectors, dtype=complex).reshape(-1, n).T


def _trend(before: np.ndarray, last: np.ndarray, at: np.ndarray) -> np.ndarray:
    """How eigenvalues go on; not where a pair has just met and left its line."""
    step = (last - before) * (at[2] - at[1]) / (at[1] - at[0])
    return np.where(np.abs(step) < 0.5 * np.abs(last) + 1e-9, step, 0)
