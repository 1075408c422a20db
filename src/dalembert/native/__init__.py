"""A small language for native code: functions in restricted Python that become machine code in milliseconds.

``@native`` makes a function; a ``Record`` is what Python and native code share. The language is described in
docs/how-to/write-native-code.md.
"""

from dalembert.native.function import FUNCTIONS, Bound, Native, checking, native, plain, rare, vectorized, whole
from dalembert.native.records import (
    BatchKernel,
    ComplexMatrix,
    Flag,
    Flags,
    Function,
    Int,
    IntegerMatrix,
    Integers,
    Kernel,
    Kernels,
    Matrix,
    Outputs,
    Real,
    Record,
    Ref,
    Vector,
)  # fmt: skip

__all__ = [
    "FUNCTIONS", "BatchKernel", "Bound", "ComplexMatrix", "Flag", "Flags", "Function", "Int", "IntegerMatrix",
    "Integers", "Kernel", "Kernels", "Matrix", "Native", "Outputs", "Real", "Record", "Ref", "Vector", "checking",
    "native", "plain", "rare", "vectorized", "whole",
]  # fmt: skip
