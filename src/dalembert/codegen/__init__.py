"""Expression graphs to machine code, without a compiler on the user's machine.

``compile_function`` turns CasADi SX expressions into a :class:`Kernel`: a function for one state, a
vectorised one for many states, an address that Numba loops call, and a stand-alone C file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.codegen.kernel import Kernel, compile_function

if TYPE_CHECKING:
    from dalembert.codegen.numba_call import call_batch, call_kernel, call_kernel_offset

__all__ = ["Kernel", "call_batch", "call_kernel", "call_kernel_offset", "compile_function"]


def __getattr__(name: str):
    # Numba takes half a second to import: only those who call kernels from Numba pay for it.
    if name in ("call_batch", "call_kernel", "call_kernel_offset"):
        from dalembert.codegen import numba_call

        return getattr(numba_call, name)
    raise AttributeError(f"module 'dalembert.codegen' has no attribute '{name}'")
