"""Jets: a scalar with its first and second time derivatives.

Anything written over the algebra and called with jets gives its own exact time derivatives (forward-mode automatic
differentiation, truncated at order two). That is how a constraint states φ once and its velocity and acceleration
equations follow:  φ,  φ̇ = A u + b,  φ̈ = A u̇ + γ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra.base import Algebra
from dalembert.values import ARRAY

__all__ = ["Jet", "Jets"]


class Jet:
    """(x, ẋ, ẍ) over some scalar."""

    __slots__ = ("a", "v", "x")

    def __init__(self, x: Any, v: Any = 0.0, a: Any = 0.0):
        self.x, self.v, self.a = x, v, a

    def __add__(self, other: Any) -> Jet:
        if isinstance(other, ARRAY):
            return NotImplemented
        o = _jet(other)
        return Jet(self.x + o.x, self.v + o.v, self.a + o.a)

    __radd__ = __add__

    def __neg__(self) -> Jet:
        return Jet(-self.x, -self.v, -self.a)

    def __sub__(self, other: Any) -> Jet:
        if isinstance(other, ARRAY):
            return NotImplemented
        o = _jet(other)
        return Jet(self.x - o.x, self.v - o.v, self.a - o.a)

    def __rsub__(self, other: Any) -> Jet:
        return _jet(other) - self

    def __mul__(self, other: Any) -> Jet:
        if isinstance(other, ARRAY):
            return NotImplemented
        o = _jet(other)
        return Jet(
            self.x * o.x,
            self.v * o.x + self.x * o.v,
            self.a * o.x + 2 * (self.v * o.v) + self.x * o.a,
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Jet:
        if isinstance(other, ARRAY):
            return NotImplemented
        o = _jet(other)
        x = self.x / o.x
        v = (self.v - x * o.v) / o.x
        return Jet(x, v, (self.a - 2 * (v * o.v) - x * o.a) / o.x)

    def __rtruediv__(self, other: Any) -> Jet:
        return _jet(other) / self

    def __pow__(self, exponent: int) -> Jet:
        if not (isinstance(exponent, int) and exponent >= 0):
            raise TypeError("a jet takes natural powers with **; use Jets.power for others")
        result = Jet(1.0)
        for _ in range(exponent):
            result = result * self
        return result

    def __repr__(self) -> str:
        return f"Jet({self.x}, {self.v}, {self.a})"


def _jet(value: Any) -> Jet:
    return value if type(value) is Jet else Jet(value)


class Jets(Algebra):
    """The algebra of jets over a base algebra."""

    def __init__(self, base: Algebra):
        self.base = base
        self.name = f"jets over {base.name}"

    def constant(self, value: float) -> Jet:
        zero = self.base.constant(0)
        return Jet(self.base.constant(value), zero, zero)

    def jets(self, x: Any, v: Any, a: Any) -> np.ndarray:
        """An array of jets from three arrays of one shape."""
        x, v, a = (np.asarray(part, dtype=object) for part in (x, v, a))
        out = np.empty(x.shape, dtype=object)
        for index in np.ndindex(*x.shape):
            out[index] = Jet(x[index], v[index], a[index])
        return out

    def parts(self, jets: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The three arrays (x, ẋ, ẍ) of an array of jets."""
        flat, shape = [_jet(jet) for jet in np.asarray(jets, dtype=object).reshape(-1)], np.shape(jets)
        x, v, a = (self.base.array([getattr(j, part) for j in flat]).reshape(shape) for part in ("x", "v", "a"))
        return x, v, a

    def _chain(self, x: Jet, g: Any, g1: Any, g2: Any) -> Jet:
        """g(x(t)):  ġ = g' ẋ,  g̈ = g'' ẋ² + g' ẍ."""
        return Jet(g, g1 * x.v, g2 * (x.v * x.v) + g1 * x.a)

    def sin(self, x: Any) -> Jet:
        x = _jet(x)
        s, c = self.base.sin(x.x), self.base.cos(x.x)
        return self._chain(x, s, c, -s)

    def cos(self, x: Any) -> Jet:
        x = _jet(x)
        s, c = self.base.sin(x.x), self.base.cos(x.x)
        return self._chain(x, c, -s, -c)

    def tan(self, x: Any) -> Jet:
        x = _jet(x)
        t = self.base.tan(x.x)
        return self._chain(x, t, 1 + t * t, 2 * t * (1 + t * t))

    def asin(self, x: Any) -> Jet:
        x = _jet(x)
        r = 1 / self.base.sqrt(1 - x.x * x.x)
        return self._chain(x, self.base.asin(x.x), r, x.x * r * r * r)

    def acos(self, x: Any) -> Jet:
        x = _jet(x)
        r = 1 / self.base.sqrt(1 - x.x * x.x)
        return self._chain(x, self.base.acos(x.x), -r, -x.x * r * r * r)

    def atan(self, x: Any) -> Jet:
        x = _jet(x)
        r = 1 / (1 + x.x * x.x)
        return self._chain(x, self.base.atan(x.x), r, -2 * x.x * r * r)

    def sinh(self, x: Any) -> Jet:
        x = _jet(x)
        s, c = self.base.sinh(x.x), self.base.cosh(x.x)
        return self._chain(x, s, c, s)

    def cosh(self, x: Any) -> Jet:
        x = _jet(x)
        s, c = self.base.sinh(x.x), self.base.cosh(x.x)
        return self._chain(x, c, s, c)

    def tanh(self, x: Any) -> Jet:
        x = _jet(x)
        t = self.base.tanh(x.x)
        return self._chain(x, t, 1 - t * t, -2 * t * (1 - t * t))

    def exp(self, x: Any) -> Jet:
        x = _jet(x)
        e = self.base.exp(x.x)
        return self._chain(x, e, e, e)

    def log(self, x: Any) -> Jet:
        x = _jet(x)
        return self._chain(x, self.base.log(x.x), 1 / x.x, -1 / (x.x * x.x))

    def sqrt(self, x: Any) -> Jet:
        x = _jet(x)
        s = self.base.sqrt(x.x)
        v = x.v / (2 * s)
        return Jet(s, v, (x.a - 2 * (v * v)) / (2 * s))

    def absolute(self, x: Any) -> Jet:
        x = _jet(x)
        s = self.base.sign(x.x)
        return Jet(self.base.absolute(x.x), s * x.v, s * x.a)

    def sign(self, x: Any) -> Jet:
        return Jet(self.base.sign(_jet(x).x))

    def atan2(self, y: Any, x: Any) -> Jet:
        y, x = _jet(y), _jet(x)
        r2 = x.x * x.x + y.x * y.x
        v = (x.x * y.v - y.x * x.v) / r2
        a = (x.x * y.a - y.x * x.a - 2 * (v * (x.x * x.v + y.x * y.v))) / r2
        return Jet(self.base.atan2(y.x, x.x), v, a)

    def power(self, base: Any, exponent: Any) -> Jet:
        if type(exponent) is not Jet:
            n, x = exponent, _jet(base)
            if n in (0, 1, 2, 3):
                return x ** int(n)
            p = self.base.power
            return self._chain(x, p(x.x, n), n * p(x.x, n - 1), n * (n - 1) * p(x.x, n - 2))
        return self.exp(exponent * self.log(base))

    def minimum(self, a: Any, b: Any) -> Jet:
        return self.where(self.less(a, b), a, b)

    def maximum(self, a: Any, b: Any) -> Jet:
        return self.where(self.less(a, b), b, a)

    def find(self, x: Any, knots: np.ndarray) -> Jet:
        return self._still(self.base.find(_jet(x).x, knots))

    def pick(self, index: Any, values: np.ndarray) -> Jet:
        return self._still(self.base.pick(_jet(index).x, values))

    def _still(self, value: Any) -> Jet:
        """A scalar that does not change."""
        zero = self.base.constant(0)
        return Jet(value, zero, zero)

    def less(self, a: Any, b: Any) -> Any:
        return self.base.less(_jet(a).x, _jet(b).x)

    def where(self, condition: Any, a: Any, b: Any) -> Jet:
        a, b, w = _jet(a), _jet(b), self.base.where
        return Jet(w(condition, a.x, b.x), w(condition, a.v, b.v), w(condition, a.a, b.a))
