"""Functions by address: how a native time loop calls what it integrates, knowing nothing of mechanics.

    int64 rhs(int64 context, double t, const double* y, double* dy)       ẏ = f(t, y)
    int64 retract(int64 context, double t, double* y, double* quality)    y back onto its manifold; quality[0] ≤ 1 is
                                                                          small where the manifold is nearly singular

Both return 0 if they succeeded, a positive number if not. A retraction returns RESTART if it succeeded and y means
something else from now on, which methods that remember former steps must know. Loops that take the addresses as
numbers are compiled once and serve every model.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

__all__ = ["RESTART", "SIGNATURE", "call_address", "float_pointer", "integer_pointer", "put"]

RESTART = -1

# The C signature of both functions, for numba.cfunc.
SIGNATURE = types.int64(types.int64, types.float64, types.CPointer(types.float64), types.CPointer(types.float64))


def _typed_call(typing_context: Any, address: Any, context: Any, t: Any, y: Any, out: Any) -> Any:
    def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = [target.make_array(signature.args[i])(target, builder, args[i]).data for i in (3, 4)]
        double, integer = ir.DoubleType(), ir.IntType(64)
        function = ir.FunctionType(integer, [integer, double, double.as_pointer(), double.as_pointer()])
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), [args[1], args[2], *data])

    return types.int64(types.int64, types.int64, types.float64, y, out), generate


def _typed_pointer(element: Any) -> Any:
    def typed(typing_context: Any, address: Any) -> Any:
        def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], target.get_value_type(element).as_pointer())

        return types.CPointer(element)(types.int64), generate

    return typed


_call: Any = intrinsic(_typed_call)
float_pointer: Any = intrinsic(_typed_pointer(types.float64))
integer_pointer: Any = intrinsic(_typed_pointer(types.int64))


@njit(cache=True, nogil=True)
def call_address(address, context, t, y, out):
    """Call the function at an address; returns its status."""
    return _call(address, context, t, y, out)


@njit(cache=True, nogil=True)
def put(target, start, source, begin, count):
    """target[start:start+count] = source[begin:begin+count]; compiles much faster than slices do."""
    for i in range(count):
        target[start + i] = source[begin + i]
