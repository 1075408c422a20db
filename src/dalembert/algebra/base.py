"""The contract of an algebra: what mechanics may ask of its scalars."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.values import ARRAY, NUMBER, SEQUENCE

__all__ = ["FUNCTIONS", "Algebra", "get_algebra"]

Scalar = Any  # a float, a SymPy expression, a traced CasADi scalar or a jet; never tested by type

# Functions of one scalar that every algebra provides as a method.
FUNCTIONS = (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "exp", "log", "sqrt", "absolute", "sign",
)  # fmt: skip


class Algebra(ABC):
    """Scalars, and arrays of them.

    The contract:
      1. Arrays are ``numpy.ndarray``; ``+ - * / @`` and indexing mean what they mean in NumPy.
      2. Scalars take part in ``+ - * / **`` (integer powers) with floats and with each other.
      3. Every name in ``FUNCTIONS`` is a method of one scalar.
      4. ``where`` evaluates both branches; keep both finite (see ``spatial.so3`` for the idiom).
      5. An algebra is stateless: the same object serves every model.
      6. Algebras with symbols also differentiate (``jacobian``, ``rate``); the others say that they cannot.
    """

    name: str
    sin: Callable[[Scalar], Scalar]
    cos: Callable[[Scalar], Scalar]
    tan: Callable[[Scalar], Scalar]
    asin: Callable[[Scalar], Scalar]
    acos: Callable[[Scalar], Scalar]
    atan: Callable[[Scalar], Scalar]
    sinh: Callable[[Scalar], Scalar]
    cosh: Callable[[Scalar], Scalar]
    tanh: Callable[[Scalar], Scalar]
    exp: Callable[[Scalar], Scalar]
    log: Callable[[Scalar], Scalar]
    sqrt: Callable[[Scalar], Scalar]
    absolute: Callable[[Scalar], Scalar]
    sign: Callable[[Scalar], Scalar]

    @abstractmethod
    def constant(self, value: float) -> Scalar:
        """A number as a scalar of this algebra."""

    def number(self, value: Any) -> Scalar:
        """A SymPy number as a scalar of this algebra."""
        return self.constant(value.p if value.is_Integer else float(value))

    @abstractmethod
    def atan2(self, y: Scalar, x: Scalar) -> Scalar: ...

    @abstractmethod
    def power(self, base: Scalar, exponent: Scalar) -> Scalar: ...

    @abstractmethod
    def minimum(self, a: Scalar, b: Scalar) -> Scalar: ...

    @abstractmethod
    def maximum(self, a: Scalar, b: Scalar) -> Scalar: ...

    @abstractmethod
    def less(self, a: Scalar, b: Scalar) -> Any:
        """The condition a < b, for ``where``."""

    @abstractmethod
    def where(self, condition: Any, a: Scalar, b: Scalar) -> Scalar:
        """a where the condition holds, b elsewhere."""

    def find(self, x: Scalar, knots: np.ndarray) -> Scalar:
        """How many of many rising numbers are not above x; piecewise constant."""
        raise DalembertError(f"a table of {len(knots)} points is too long for the {self.name} algebra")

    def pick(self, index: Scalar, values: np.ndarray) -> Scalar:
        """The number at an index that ``find`` gave."""
        raise DalembertError(f"a table of {len(values)} points is too long for the {self.name} algebra")

    # Added under the root of a length, so that its derivatives at zero are zero: a length of 1e-100 is none.
    tiny: float = 1e-200

    def length(self, vector: np.ndarray) -> Scalar:
        """The length of a vector; where it is zero its derivatives are, too."""
        return self.sqrt(vector @ vector + self.tiny)

    # Algebras with symbols, SymPy and CasADi, differentiate.

    def symbol(self, name: str) -> Scalar:
        """A variable of this name."""
        raise self._without_symbols()

    def jacobian(self, values: np.ndarray, symbols: np.ndarray) -> np.ndarray:
        """Derivatives of a vector of functions (rows) by symbols (columns)."""
        raise self._without_symbols()

    def rate(self, values: np.ndarray, symbols: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The derivative of an array of functions of symbols along a direction."""
        raise self._without_symbols()

    def substitute(self, values: np.ndarray, symbols: np.ndarray, replacements: np.ndarray) -> np.ndarray:
        """An array of functions with other scalars in the place of symbols."""
        raise self._without_symbols()

    def value(self, scalar: Scalar) -> float | None:
        """The number that a scalar is, or None if it depends on a symbol."""
        return float(scalar)

    def _without_symbols(self) -> DalembertError:
        return DalembertError(f"the {self.name} algebra has no symbols; derive over 'sympy' or 'casadi'")

    def variables(self, names: Iterable[str]) -> np.ndarray:
        """A vector of symbols."""
        return self.vector([self.symbol(name) for name in names])

    def vector(self, scalars: Iterable[Scalar]) -> np.ndarray:
        """A vector of scalars of this algebra."""
        found = list(scalars)
        out = self.zeros(len(found))
        for i, scalar in enumerate(found):
            out[i] = scalar
        return out

    def gradient(self, value: Scalar, symbols: np.ndarray) -> np.ndarray:
        """Derivatives of one function by symbols."""
        return self.jacobian(self.vector([value]), symbols)[0]

    def array(self, values: Any) -> np.ndarray:
        """An array of scalars from (nested) sequences of scalars and numbers."""
        shape = _shape(values)
        out = np.empty(shape, dtype=object)
        for index in np.ndindex(*shape):
            element = values
            for i in index:
                element = element[i]
            out[index] = self.constant(float(element)) if isinstance(element, NUMBER) else element
        return out

    def zeros(self, *shape: int) -> np.ndarray:
        out = np.empty(shape, dtype=object)
        out[...] = self.constant(0)
        return out

    def eye(self, n: int) -> np.ndarray:
        out = self.zeros(n, n)
        out[np.diag_indices(n)] = self.constant(1)
        return out

    def concatenate(self, parts: list[np.ndarray]) -> np.ndarray:
        """Vectors one after the other; the empty list gives the empty vector."""
        return np.concatenate(parts) if parts else self.zeros(0)

    def columns(self, linear: Callable[[np.ndarray], np.ndarray], n: int) -> np.ndarray:
        """The matrix of a linear map of n-vectors, column by column."""
        columns = [linear(column) for column in self.eye(n)]
        return np.stack(columns, axis=1) if columns else self.zeros(len(linear(self.zeros(0))), 0)


def _shape(values: Any) -> tuple[int, ...]:
    """Shape of nested sequences; anything that is not a sequence is a scalar."""
    if isinstance(values, ARRAY):
        return values.shape
    if isinstance(values, SEQUENCE):
        return (len(values), *(_shape(values[0]) if values else ()))
    return ()


def get_algebra(name: str) -> Algebra:
    """The algebra of this name: ``numpy``, ``sympy`` or ``casadi``."""
    if name == "numpy":
        from dalembert.algebra.numpy_algebra import NUMPY

        return NUMPY
    if name == "sympy":
        from dalembert.algebra.sympy_algebra import SYMPY

        return SYMPY
    if name == "casadi":
        from dalembert.algebra.casadi_algebra import CASADI

        return CASADI
    raise DalembertError(f"unknown algebra {name!r}; expected 'numpy', 'sympy' or 'casadi'")
