"""Given functions of time with their first two rates: formulas, splines through samples, smoothed measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.arguments import public_class
from dalembert.codegen import Kernel, compile_function
from dalembert.errors import DalembertError
from dalembert.expressions import TIME, evaluate, parse
from dalembert.expressions.symbols import parameters_of, references
from dalembert.values import ARRAY, NO_NUMBER, NUMBER, SEQUENCE, TUPLE

__all__ = ["Samples", "Signals", "signal_of"]

FEWEST = 4  # samples of a spline
DEGREE = 5  # of splines: rates of second order are smooth
GIVEN = "a formula of t, numbers over the whole duration, a pair (times, values), or da.Samples"


@public_class
@dataclass(frozen=True)
class Samples:
    """Measured values over time, as a smooth function: a spline of degree 5 (3 for fewer than 6 samples).

    Attributes:
        times: increasing (s).
        values: one for each time.
        smoothing: None: the spline passes through all samples. A number: the standard deviation of the noise, in the
            unit of the values; the spline then stays as far from the samples as the noise does. ``"auto"``: a cubic
            smoothing spline, by generalized cross-validation.

    Example:
        measured = da.Samples([0.0, 0.1, 0.2, 0.3, 0.4, 0.5], [0.0, 0.01, 0.04, 0.09, 0.16, 0.25])
        inverse = da.inverse_dynamics(da.library.pendulum(), {"pivot": measured}, 0.5)
    """

    times: Any
    values: Any
    smoothing: float | str | None = None

    def __post_init__(self) -> None:
        for name in ("times", "values"):
            array = _floats(name, getattr(self, name))
            if array.ndim != 1 or not np.all(np.isfinite(array)):
                raise DalembertError(f"samples: {name} must be one row of finite numbers, got shape {array.shape}")
            object.__setattr__(self, name, array)
        if len(self.times) != len(self.values):
            raise DalembertError(f"samples: {len(self.times)} times but {len(self.values)} values")
        if len(self.times) < FEWEST or np.any(np.diff(self.times) <= 0):
            raise DalembertError(f"samples: expected at least {FEWEST} times, each later than the one before")
        known = self.smoothing in (None, "auto")
        if not known and not (isinstance(self.smoothing, (int, float)) and self.smoothing > 0):
            raise DalembertError(
                f"samples: smoothing must be None, 'auto' or the standard deviation of the noise, "
                f"got {self.smoothing!r}"
            )

    @cached_property
    def spline(self) -> Any:
        """The function and its rates, as SciPy has it."""
        import scipy.interpolate

        splines: Any = scipy.interpolate
        n = len(self.times)
        degree = DEGREE if n > DEGREE else 3
        if self.smoothing is None:
            return splines.make_interp_spline(self.times, self.values, k=degree)
        if self.smoothing == "auto":
            if n < DEGREE:
                raise DalembertError(f"samples: smoothing='auto' needs at least {DEGREE} samples, got {n}")
            return splines.make_smoothing_spline(self.times, self.values)
        weights = np.full(n, 1.0 / float(self.smoothing))
        return splines.UnivariateSpline(self.times, self.values, w=weights, k=degree, s=n, ext=2)

    def at(self, t: Any) -> np.ndarray:
        """Value, first and second rate: one row for each time."""
        t = np.atleast_1d(_floats("t", t))
        first, last = self.times[0], self.times[-1]
        slack = 1e-9 * (last - first)
        if not np.all((t >= first - slack) & (t <= last + slack)):
            raise DalembertError(
                f"samples cover {first:g} … {last:g} s, but the motion is asked for at {t.min():g} … {t.max():g} s"
            )
        t, spline = np.clip(t, first, last), self.spline
        rates = [spline, spline.derivative(1), spline.derivative(2)]
        return np.stack([np.asarray(rate(t), dtype=float) for rate in rates], axis=1)

    def third(self, t: Any) -> np.ndarray:
        """The third rate at each time, within the samples."""
        times = np.clip(_floats("t", t), self.times[0], self.times[-1])
        return np.asarray(self.spline.derivative(3)(times), dtype=float)


def _floats(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values, dtype=float)
    except NO_NUMBER:
        raise DalembertError(f"samples: {name} must be numbers, got {values!r}") from None


def signal_of(what: str, given: Any, span: tuple[float, float]) -> sp.Expr | Samples:
    """What the user gave for a quantity: a formula, or samples."""
    if isinstance(given, Samples):
        return given
    if isinstance(given, str):
        given = parse(given)
    if isinstance(given, NUMBER) and not isinstance(given, bool):
        given = sp.Float(float(given)) if np.isfinite(given) else None
    if isinstance(given, sp.Expr):
        if references(given):
            raise DalembertError(f"motion of {what}: expected a formula of t and parameters, got {given}")
        return given
    rest: Any = given
    dims = getattr(rest, "dims", None)
    if dims is not None:
        if dims != ("time",):
            raise DalembertError(f"motion of {what}: expected a DataArray along 'time', got {dims}")
        return Samples(np.asarray(rest["time"]), np.asarray(rest))
    if isinstance(rest, TUPLE) and len(rest) == 2 and all(np.ndim(part) == 1 for part in rest):
        return Samples(*rest)
    if isinstance(rest, (*SEQUENCE, *ARRAY, range)) and np.ndim(rest) == 1 and len(rest) >= FEWEST:
        return Samples(np.linspace(*span, len(rest)), rest)
    raise DalembertError(f"motion of {what}: expected {GIVEN}; got {given!r}")


@dataclass
class Signals:
    """Functions of time with their rates.

    Attributes:
        parts: formulas and samples.
        parameters: names of those that formulas may use.
    """

    parts: list[sp.Expr | Samples]
    parameters: tuple[str, ...]
    _at: list[int] = field(default_factory=lambda: [])

    def __post_init__(self) -> None:
        self._at = [i for i, part in enumerate(self.parts) if isinstance(part, sp.Expr)]
        for part in self.parts:
            named = {symbol.name for symbol in parameters_of(part)} if isinstance(part, sp.Expr) else set[str]()
            unknown = sorted(named - set(self.parameters))
            if unknown:
                known = ", ".join(self.parameters) or "no parameters"
                raise DalembertError(f"motion {part}: unknown {', '.join(unknown)}; the model has {known}")

    @property
    def _formulas(self) -> tuple[Any, Any, Any]:
        """t, the parameters and all formulas as CasADi columns."""
        t, p = CASADI.symbols("t", 1), CASADI.symbols("p", len(self.parameters))
        names = dict(zip(self.parameters, p[1], strict=True))

        def lookup(atom: Any) -> Any:
            return t[1][0] if atom == TIME else names[atom.name]

        formulas: list[Any] = [self.parts[i] for i in self._at]
        return t[0], p[0], CASADI.to_sx(CASADI.array([evaluate(CASADI, formula, lookup) for formula in formulas]))

    @cached_property
    def _kernel(self) -> Kernel:
        """Formulas with their rates, by differentiation of the expression graph."""
        import casadi as ca

        t, p, s = self._formulas
        casadi: Any = ca
        first = casadi.jtimes(s, t, ca.DM.ones(1))
        outputs: dict[str, Any] = {"s": s, "first": first, "second": casadi.jtimes(first, t, ca.DM.ones(1))}
        dense: dict[str, Any] = {name: ca.densify(value) for name, value in outputs.items()}
        return compile_function("signals", {"t": t, "p": p}, dense, shapes={"t": ()})

    @cached_property
    def _third_kernel(self) -> Kernel:
        """Third rates of the formulas."""
        import casadi as ca

        t, p, first = self._formulas
        s: ca.SX = first
        for _ in range(3):
            s = ca.jtimes(s, t, ca.DM.ones(1))
        return compile_function("third_rates", {"t": t, "p": p}, {"third": ca.densify(s)}, shapes={"t": ()})

    def third(self, times: np.ndarray, values: Mapping[str, float]) -> np.ndarray:
        """Third rate: (time, part); see ``at``."""
        found = np.empty((len(times), len(self.parts)))
        if self._at:
            parameters = np.array([values[name] for name in self.parameters], dtype=float)
            found[:, self._at] = np.asarray(self._third_kernel(times, parameters)).reshape(len(times), -1)
        for i, part in enumerate(self.parts):
            if isinstance(part, Samples):
                found[:, i] = part.third(times)
        return found

    def at(self, times: np.ndarray, values: Mapping[str, float]) -> np.ndarray:
        """Value, first and second rate: (time, 3, part).

        Args:
            values: of the parameters.
        """
        parameters = np.array([values[name] for name in self.parameters], dtype=float)
        found = np.empty((len(times), 3, len(self.parts)))
        if self._at:
            seen = self._kernel(times, parameters)
            for k, values in enumerate(seen):
                found[:, k, self._at] = np.asarray(values).reshape(len(times), -1)
        for i, part in enumerate(self.parts):
            if isinstance(part, Samples):
                found[:, :, i] = part.at(times)
        bad = np.argwhere(~np.isfinite(found))
        if len(bad):
            row, order, part = (int(number) for number in bad[0])
            what = ("value", "velocity", "acceleration")[order]
            raise DalembertError(
                f"motion {self.parts[part]} has no finite {what} at t = {times[row]:g} s.  Fix: a formula that is "
                f"smooth over the whole duration"
            )
        return found
