"""Array operations of native code, written in its own language."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

__all__ = ["PRODUCTS", "ZEROS", "complex_quotient", "is_own", "own", "scatter", "take", "total"]


class Plain:
    """A function of the library: as ``@native`` makes them, but called from native code only."""

    manner = ""

    def __init__(self, function: Any):
        self.python, self.key = function, f"{function.__module__}.{function.__name__}"

    def __call__(self, *args: Any) -> Any:
        return self.python(*args)


@functools.cache
def own(function: Any) -> Plain:
    """A plain function of this package, such as those of the mathematics library, for native code."""
    return Plain(function)


def is_own(thing: Any) -> bool:
    """True for plain functions of this package."""
    return isinstance(thing, types.FunctionType) and thing.__module__.startswith("dalembert.native.")


@Plain
def complex_quotient(ar: float, ai: float, br: float, bi: float) -> tuple[float, float]:
    """(ar + i ai) / (br + i bi) without overflow (Smith), rounded as NumPy rounds elements of arrays."""
    if abs(br) >= abs(bi):
        ratio = bi / br
        scale = 1.0 / (br + bi * ratio)
        return (ar + ai * ratio) * scale, (ai - ar * ratio) * scale
    ratio = br / bi
    scale = 1.0 / (bi + br * ratio)
    return (ar * ratio + ai) * scale, (ai * ratio - ar) * scale


@Plain
def matrix_vector(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    n, m = A.shape[0], A.shape[1]
    out = np.empty(n)
    # Four rows side by side: sums of their own, which the processor need not wait for.
    whole = n - n % 4
    for i in range(0, whole, 4):
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for j in range(m):
            y = x[j]
            s0 += A[i, j] * y
            s1 += A[i + 1, j] * y
            s2 += A[i + 2, j] * y
            s3 += A[i + 3, j] * y
        out[i], out[i + 1], out[i + 2], out[i + 3] = s0, s1, s2, s3
    for i in range(whole, n):
        s0 = 0.0
        for j in range(m):
            s0 += A[i, j] * x[j]
        out[i] = s0
    return out


@Plain
def vector_matrix(x: np.ndarray, A: np.ndarray) -> np.ndarray:
    out = np.zeros(A.shape[1])
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[j] += x[i] * A[i, j]
    return out


@Plain
def matrix_matrix(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    out = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            a = A[i, k]
            for j in range(B.shape[1]):
                out[i, j] += a * B[k, j]
    return out


@Plain
def vector_vector(x: np.ndarray, y: np.ndarray) -> float:
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * y[i]
    return s


PRODUCTS = {(2, 1): matrix_vector, (1, 2): vector_matrix, (2, 2): matrix_matrix, (1, 1): vector_vector}


@Plain
def take(a: np.ndarray, places: np.ndarray) -> np.ndarray:
    # As many as there are places, of the kind of a.
    out = np.empty_like(a, shape=places.shape[0])
    for i in range(places.shape[0]):
        out[i] = a[places[i]]
    return out


@Plain
def scatter(a: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    for i in range(places.shape[0]):
        a[places[i]] = values[i]


@Plain
def argsort(a: np.ndarray) -> np.ndarray:
    """Places of the elements in rising order, NaN at the end; equal ones keep their order."""
    out = np.empty(a.shape[0], dtype=np.int64)
    for i in range(a.shape[0]):
        k = i
        while k > 0 and (a[out[k - 1]] > a[i] or (a[out[k - 1]] != a[out[k - 1]] and a[i] == a[i])):
            out[k] = out[k - 1]
            k -= 1
        out[k] = i
    return out


@Plain
def lower_triangle(A: np.ndarray) -> np.ndarray:
    out = A.copy()
    for i in range(A.shape[0]):
        for j in range(i + 1, A.shape[1]):
            out[i, j] = 0.0
    return out


@Plain
def identity(n: int) -> np.ndarray:
    out = np.zeros((n, n))
    for i in range(n):
        out[i, i] = 1.0
    return out


@Plain
def count_up(n: int) -> np.ndarray:
    out = np.empty(n, dtype=np.int64)
    for i in range(n):
        out[i] = i
    return out


@Plain
def largest_of_vector(a: np.ndarray) -> float:
    # NaN if there is one.
    s = a[0]
    for i in range(1, a.shape[0]):
        x = a[i]
        if x > s or x != x:
            s = x
    return s


@Plain
def largest_of_matrix(a: np.ndarray) -> float:
    s = a[0, 0]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            x = a[i, j]
            if x > s or x != x:
                s = x
    return s


@Plain
def total(a: np.ndarray, zero: Any) -> Any:
    s = zero
    for i in range(a.shape[0]):
        s += a[i]
    return s


ZEROS = {"float": 0.0, "int": 0, "bool": 0, "complex": 0.0j}
