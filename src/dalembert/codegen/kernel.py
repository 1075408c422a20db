"""A compiled function of named arrays."""

from __future__ import annotations

import ctypes
import threading
from collections import namedtuple
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from dalembert.codegen.kernel_batch import aligned_arrays, run_batch
from dalembert.codegen.kernel_build import Build, Code
from dalembert.codegen.layout import Field, Layout
from dalembert.codegen.tape import Tape, straight_results, trace
from dalembert.errors import CompileError, InputError
from dalembert.native.jit import host
from dalembert.values import ARRAY

__all__ = ["Kernel", "compile_function"]

# Names and number of the fields are known only where a kernel is made.
_named_tuple: Any = namedtuple
_MAPPING: tuple[type[Any], ...] = (Mapping,)
_SINGLE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def compile_function(
    name: str,
    inputs: Mapping[str, ca.SX],
    outputs: Mapping[str, ca.SX],
    *,
    batch: bool = True,
    optimize: int | None = None,
    cache: bool = True,
    shapes: Mapping[str, Sequence[int]] | None = None,
    piece: int | None = None,
    products: Mapping[str, Sequence[ca.SX]] | None = None,
) -> Kernel:
    """Compile expressions to machine code.

    Args:
        name: name of the kernel, used in messages and in exported C; a C identifier.
        inputs: name -> SX symbols, a column (n,) or a matrix (r, c).
        outputs: name -> SX expression of the inputs.
        batch: make the version for many states at its first use; otherwise a batch is a loop over states.
        optimize: LLVM level 0 to 3; None chooses by length.
        cache: keep the object file on disk.
        shapes: NumPy shapes that differ from those of the expressions, e.g. ``{"t": (), "M": (1, 1)}``;
            the elements are in row-major order.
        piece: instructions in one piece of a long function; None takes what compiles fastest.
        products: name -> factors of further outputs, which follow ``outputs``: products of two or more matrices that
            are computed in loops, faster than written out from about thirty rows on; structural zeros are left out.

    Returns:
        the kernel; the code is made, or read from the cache, at its first use.
    """
    if not name.isidentifier() or not name.isascii():
        raise CompileError(f"kernel name {name!r} must be a C identifier.  Fix: e.g. 'forward_dynamics'")
    if optimize not in (None, 0, 1, 2, 3):
        raise CompileError(f"kernel '{name}': optimize must be None, 0, 1, 2 or 3, got {optimize!r}")
    shapes = {} if shapes is None else shapes
    products = {} if products is None else products
    stray = [key for key in shapes if key not in inputs and key not in outputs]
    if stray:
        raise CompileError(f"kernel '{name}': shapes given for unknown arrays: {', '.join(stray)}")
    if not outputs and not products:
        raise CompileError(f"kernel '{name}' has no outputs")
    tape = trace(name, inputs, outputs, products)
    layout_in = Layout.from_expressions(name, inputs, shapes)
    made = {key: ca.SX(factors[0].shape[0], factors[-1].shape[1]) for key, factors in products.items()}
    layout_out = Layout.from_expressions(name, {**outputs, **made}, shapes)
    return Kernel(name, tape, layout_in, layout_out, batch=batch, optimize=optimize, cache=cache, piece=piece)


def _result_type(name: str, fields: tuple[str, ...]) -> Any:
    """Named tuple of a kernel's outputs, that can be pickled although no module defines it."""
    base = _named_tuple(f"{name}_result", fields)

    def reduce(self: Any) -> tuple[Any, ...]:
        return _make_result, (name, fields, tuple(self))

    return type(base.__name__, (base,), {"__slots__": (), "__reduce__": reduce})


def _make_result(name: str, fields: tuple[str, ...], values: tuple[np.ndarray, ...]) -> Any:
    return _result_type(name, fields)(*values)


class _Buffers(threading.local):
    """Memory of one thread for calls with one state."""

    def __init__(self, layout_in: Layout, n_out: int, n_work: int):
        self.inp, self.out, self.work = np.zeros(layout_in.size), np.zeros(n_out), np.zeros(n_work)
        self.views = [self.inp[f.start : f.stop].reshape(f.shape) for f in layout_in.fields]
        self.pointers = tuple(array.ctypes.data for array in (self.inp, self.out, self.work))


class Kernel:
    """A function of named arrays in machine code; made by :func:`compile_function`.

    Call it with arrays of the declared shapes for one state, or with one leading dimension n on any of them
    for n states (the others are broadcast). It returns the output, or a named tuple of the outputs.

    Attributes:
        name: name of the kernel.
        n_in: number of scalar inputs; all inputs one after the other in one vector, row-major.
        n_out: number of scalar outputs, likewise.
        instructions: number of arithmetic instructions.
    """

    def __init__(
        self,
        name: str,
        tape: Tape,
        layout_in: Layout,
        layout_out: Layout,
        *,
        batch: bool = True,
        optimize: int | None = None,
        cache: bool = True,
        piece: int | None = None,
    ):
        self.name = name
        self.n_in = tape.n_in
        self.n_out = tape.n_out
        self.instructions = tape.instructions
        self._tape = tape
        self._layout_in = layout_in
        self._layout_out = layout_out
        self._options = {"batch": batch, "optimize": optimize, "cache": cache, "piece": piece}
        self._result = _result_type(name, tuple(layout_out.shapes))
        self._codes: dict[bool, Code] = {}
        self._lock = threading.RLock()
        self._call: tuple[Any, _Buffers] | None = None

    # -- what it is ---------------------------------------------------------------------------------

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """Name -> shape of the inputs."""
        return self._layout_in.shapes

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Name -> shape of the outputs."""
        return self._layout_out.shapes

    @property
    def places(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        """Name -> where an output begins among the scalar ones, and its shape."""
        return {field.name: (field.start, field.shape) for field in self._layout_out.fields}

    def straight(self, moving: int) -> np.ndarray:
        """1 for each scalar output that the first ``moving`` inputs change along a straight line, else 0."""
        return straight_results(self._tape, moving)

    @property
    def has_batch(self) -> bool:
        """Whether there is a version for groups of states."""
        return bool(self._options["batch"])

    @property
    def width(self) -> int:
        """Number of states in a group of the batch version."""
        return host().width

    def build(self, batch: bool) -> Build:
        """The scalar or the batch version, whose ``ir()`` and ``assembly()`` can be read."""
        return Build(self._tape, batch, self._options["optimize"], self._options["piece"])

    def _code(self, batch: bool) -> Code:
        with self._lock:
            code = self._codes.get(batch)
            if code is None:
                code = self._codes[batch] = self.build(batch).load(cache=bool(self._options["cache"]))
            return code

    @property
    def address(self) -> int:
        """Address of ``void kernel(const double* in, double* out, double* work)``."""
        return self._code(False).address

    @property
    def batch_address(self) -> int:
        """Address of ``void kernel_batch(const double* in, double* out, double* work, int64 n_groups)``.

        Input i of state ``lane`` in group g is ``in[(g*n_in + i)*width + lane]``; outputs likewise.
        """
        return self._code(True).address

    @property
    def n_work(self) -> int:
        """Doubles of work memory of the function at ``address``."""
        return self._code(False).n_work

    @property
    def n_work_batch(self) -> int:
        """Doubles of work memory of the function at ``batch_address``."""
        return self._code(True).n_work

    @property
    def ir(self) -> str:
        """LLVM IR of the scalar version, before optimization."""
        return self.build(False).ir()

    def __repr__(self) -> str:
        def text(shapes: dict[str, tuple[int, ...]]) -> str:
            return ", ".join(f"{name}{list(shape)}" for name, shape in shapes.items())

        return f"<Kernel {self.name}({text(self.inputs)}) -> {text(self.outputs)}, {self.instructions} instructions>"

    def __getstate__(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "tape": self._tape,
            "layouts": (self._layout_in, self._layout_out),
            "options": self._options,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["name"], state["tape"], *state["layouts"], **state["options"])

    def export_c(self, path: str | Path) -> tuple[Path, Path]:
        """Write ``name.c`` and ``name.h``: C99 that needs nothing but math.h.

        Args:
            path: a directory, or the path of the C file.

        Returns:
            paths of the C file and of the header.
        """
        from dalembert.codegen.export_c import write_c

        return write_c(self.name, self._tape, self._layout_in, self._layout_out, Path(path))

    # -- calling it ---------------------------------------------------------------------------------

    def __call__(self, *args: Any, out: Any = None, threads: int = 1, check_finite: bool = False, **kwargs: Any) -> Any:
        """Evaluate for one state or for many.

        Args:
            args: the inputs in order, or by name.
            out: array, or sequence or mapping of arrays, that receive the outputs.
            threads: number of threads for many states.
            check_finite: raise InputError if an input holds NaN or infinity.
        """
        arrays, n = self._bound(args, kwargs, check_finite)
        results = self._one(arrays) if n < 0 else self._many(arrays, n, threads, out)
        if out is not None:
            return self._deliver(results, out)
        return results[0] if len(results) == 1 else self._result(*results)

    def some(self, names: Sequence[str], *args: Any) -> list[np.ndarray]:
        """The outputs of these names for many states; the others take no memory."""
        arrays, n = self._bound(args, {})
        if n < 0:
            raise InputError(f"kernel '{self.name}': some outputs are of many states, got one")
        return self._many(arrays, n, fields=[self._layout_out.fields[list(self.outputs).index(name)] for name in names])

    def _bound(self, args: Any, kwargs: Any, check_finite: bool = False) -> tuple[list[np.ndarray], int]:
        """The inputs, and the number of states, -1 for a single one."""
        layout = self._layout_in
        arrays: list[np.ndarray] = []
        n = -1
        for field, value in zip(layout.fields, layout.bind(self.name, args, kwargs), strict=True):
            array = layout.check(self.name, field, value)
            if check_finite and not np.isfinite(array).all():
                raise InputError(f"kernel '{self.name}': '{field.name}' holds NaN or infinity")
            if array.ndim > len(field.shape):
                if n >= 0 and len(array) != n:
                    raise InputError(
                        f"kernel '{self.name}': '{field.name}' holds {len(array)} states, the inputs before it {n}"
                    )
                n = len(array)
            arrays.append(array)
        return arrays, n

    def _one(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        if self._call is None:
            code = self._code(False)
            self._call = _SINGLE(code.address), _Buffers(self._layout_in, self.n_out, code.n_work)
        function, buffers = self._call
        for view, array in zip(buffers.views, arrays, strict=True):
            view[...] = array
        function(*buffers.pointers)
        results = self._outputs(buffers.out.copy())
        return [results] if len(self._layout_out.fields) == 1 else list(results)

    def _outputs(self, flat: np.ndarray) -> Any:
        """The output, or the named tuple of outputs, as views into one block of memory."""
        fields = self._layout_out.fields
        if len(fields) == 1:
            return flat.reshape(fields[0].shape)
        return self._result(*[flat[f.start : f.stop].reshape(f.shape) for f in fields])

    def _many(
        self, arrays: list[np.ndarray], n: int, threads: int = 1, out: Any = None, fields: Sequence[Field] = ()
    ) -> list[np.ndarray]:
        if not isinstance(threads, int) or threads < 1:
            raise InputError(f"kernel '{self.name}': threads must be a positive integer, got {threads!r}")
        # Results go straight to the arrays of the caller where these are plain.
        fields = fields or self._layout_out.fields
        targets: list[Any] = self._targets(out) if out is not None else [None] * len(fields)
        shapes = [(n, *field.shape) for field in fields]
        plain = [_is_plain(target, shape) for target, shape in zip(targets, shapes, strict=True)]
        fresh = iter(aligned_arrays([shape for shape, given in zip(shapes, plain, strict=True) if not given]))
        results = [target if given else next(fresh) for target, given in zip(targets, plain, strict=True)]
        inputs: list[tuple[Field, np.ndarray]] = []
        for field, array in zip(self._layout_in.fields, arrays, strict=True):
            shape = (n, field.size) if array.ndim > len(field.shape) else (field.size,)
            inputs.append((field, np.ascontiguousarray(array).reshape(shape)))
        if n == 0:
            return results
        batch = bool(self._options["batch"])
        outputs = [(f, result.reshape(n, f.size)) for f, result in zip(fields, results, strict=True)]
        width = self.width if batch else 1
        run_batch(self._code(batch), width, (self.n_in, self.n_out), inputs, outputs, n, threads)
        return results

    def _targets(self, out: Any) -> list[Any]:
        """The arrays in ``out``, in the order of the outputs."""
        names = list(self._layout_out.shapes)
        targets: list[Any]
        if isinstance(out, _MAPPING):
            targets = [out.get(name) for name in names]
        elif len(names) == 1 and isinstance(out, ARRAY):
            targets = [out]
        else:
            try:
                targets = list(out)
            except TypeError:  # nothing that holds arrays
                targets = []
        if len(targets) != len(names):
            raise InputError(f"kernel '{self.name}': out must hold {len(names)} arrays ({', '.join(names)})")
        return targets

    def _deliver(self, results: list[np.ndarray], out: Any) -> Any:
        names, targets = list(self._layout_out.shapes), self._targets(out)
        for name, target, result in zip(names, targets, results, strict=True):
            if not isinstance(target, ARRAY) or target.shape != result.shape:
                got = target.shape if isinstance(target, ARRAY) else type(target).__name__
                raise InputError(f"kernel '{self.name}': out for '{name}' must be an array {result.shape}, got {got}")
            if target.dtype != result.dtype:
                raise InputError(
                    f"kernel '{self.name}': out for '{name}' must hold doubles, got dtype {target.dtype}.  "
                    f"Fix: np.empty({result.shape})"
                )
            if target is not result:
                target[...] = result
        return out


def _is_plain(target: Any, shape: tuple[int, ...]) -> bool:
    """True for an array of doubles of this shape without gaps."""
    return (
        isinstance(target, ARRAY)
        and target.shape == shape
        and target.dtype == np.float64
        and target.flags.c_contiguous
        and target.flags.writeable
    )
