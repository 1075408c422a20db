"""Expression graphs to machine code, without a compiler on the user's machine.

``compile_function`` turns CasADi SX expressions into a :class:`Kernel`: a function for one state, a
vectorized one for many states, an address that native code calls, and a stand-alone C file.
"""

from dalembert.codegen.kernel import Kernel, compile_function

__all__ = ["Kernel", "compile_function"]
