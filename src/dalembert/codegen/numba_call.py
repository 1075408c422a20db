"""Calling kernels by address from Numba.

The functions here know nothing of a model: a time loop that takes the address as a number is
compiled once, cached on disk by Numba, and runs with every kernel. The arrays must not overlap.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

__all__ = ["call_batch", "call_kernel", "call_kernel_offset"]

_DOUBLE = ir.PointerType(ir.DoubleType())


def _check(**arrays: types.Type) -> None:
    for name, array in arrays.items():
        if not isinstance(array, types.Array) or array.dtype != types.float64 or array.layout != "C":
            raise TypingError(f"call_kernel: '{name}' must be a C-contiguous float64 array, got {array}")


def _pointer(context, builder, kind, value, offset=None):
    data = context.make_array(kind)(context, builder, value).data
    return data if offset is None else builder.gep(data, [offset])


def _call(builder, address, pointers, *count) -> None:
    function = ir.FunctionType(ir.VoidType(), [_DOUBLE] * 3 + [ir.IntType(64)] * len(count))
    builder.call(builder.inttoptr(address, ir.PointerType(function)), [*pointers, *count])


def _typed_call(typing_context, address, inp, out, work):
    _check(inp=inp, out=out, work=work)

    def generate(context, builder, signature, args):
        pointers = [_pointer(context, builder, signature.args[i], args[i]) for i in (1, 2, 3)]
        _call(builder, args[0], pointers)
        return context.get_dummy_value()

    return types.void(types.int64, inp, out, work), generate


def _typed_call_offset(typing_context, address, inp, inp_start, out, out_start, work):
    _check(inp=inp, out=out, work=work)

    def generate(context, builder, signature, args):
        kinds = signature.args
        pointers = [
            _pointer(context, builder, kinds[1], args[1], args[2]),
            _pointer(context, builder, kinds[3], args[3], args[4]),
            _pointer(context, builder, kinds[5], args[5]),
        ]
        _call(builder, args[0], pointers)
        return context.get_dummy_value()

    integer = types.int64
    return types.void(integer, inp, integer, out, integer, work), generate


def _typed_call_batch(typing_context, address, inp, out, work, groups):
    _check(inp=inp, out=out, work=work)

    def generate(context, builder, signature, args):
        pointers = [_pointer(context, builder, signature.args[i], args[i]) for i in (1, 2, 3)]
        _call(builder, args[0], pointers, args[4])
        return context.get_dummy_value()

    return types.void(types.int64, inp, out, work, types.int64), generate


_call_address: Any = intrinsic(_typed_call)
_call_address_offset: Any = intrinsic(_typed_call_offset)
_call_batch: Any = intrinsic(_typed_call_batch)


@njit(cache=True, nogil=True)
def call_kernel(address, inp, out, work):
    """Run the kernel at an address: ``kernel(&inp[0], &out[0], &work[0])``.

    Args:
        address: ``kernel.address``; the kernel must be alive.
        inp: float64, C-contiguous, at least ``kernel.n_in`` long.
        out: the same for ``kernel.n_out``; must not overlap ``inp``.
        work: the same for ``kernel.n_work``.
    """
    _call_address(address, inp, out, work)


@njit(cache=True, nogil=True)
def call_kernel_offset(address, inp, inp_start, out, out_start, work):
    """Run the kernel on parts of longer arrays: ``kernel(&inp[inp_start], &out[out_start], &work[0])``.

    Args:
        address: ``kernel.address``; the kernel must be alive.
        inp: float64, C-contiguous.
        inp_start: index of the first input.
        out: float64, C-contiguous; must not overlap ``inp``.
        out_start: index of the first output.
        work: at least ``kernel.n_work`` long.
    """
    _call_address_offset(address, inp, inp_start, out, out_start, work)


@njit(cache=True, nogil=True)
def call_batch(address, inp, out, work, groups):
    """Run the batch version of a kernel on groups of states.

    Args:
        address: ``kernel.batch_address``; the kernel must be alive.
        inp: float64, C-contiguous, ``inp[group, i, lane]``.
        out: likewise; must not overlap ``inp``.
        work: at least ``kernel.n_work_batch`` long.
        groups: how many.
    """
    _call_batch(address, inp, out, work, groups)
