"""Derived equations to run: machine code, and plain Python."""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any, cast

import casadi as ca
import numpy as np
import sympy as sp
from sympy.printing.pycode import PythonCodePrinter

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.algebra.dense_solve import solve_spd
from dalembert.codegen import Kernel, compile_function
from dalembert.derivation.expression_graph import define
from dalembert.errors import DalembertError
from dalembert.values import DICT

if TYPE_CHECKING:
    from dalembert.derivation.build_equations import Graph, Mathematics
    from dalembert.derivation.derivation import Derivation

__all__ = ["RightHandSide", "python_source"]

_NATIVE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_MOST_ELIMINATED = 24  # velocities whose equations are solved inside the machine code


class RightHandSide:
    """(t, q, w) → (q̇, ẇ) in machine code.

    Attributes:
        kernel: the compiled function; it solves for ẇ itself if there are neither constraints nor many velocities,
            else it gives K, k, A, γ and D.
        parameters, constants: values that are taken if none are given; constants are momenta that stay.
    """

    def __init__(self, graph: Graph):
        self._graph = graph
        self.parameters = np.array(list(graph.setup.values.values()), dtype=float)
        self.parameter_names = list(graph.setup.values)
        self.n_constants = graph.G.numel()
        self._none = np.zeros(self.n_constants)
        self.solves = self._is_spd() and graph.w.numel() <= _MOST_ELIMINATED
        self.kernel = self._compile()
        self._memory = threading.local()

    def _is_spd(self) -> bool:
        """True for a symmetric matrix without constraints: not Maggi's, which has their rows among its own."""
        g = self._graph
        return not len(g.derived.gamma) and "W" not in g.derived.functions

    def _compile(self) -> Kernel:
        g, al = self._graph, CASADI
        inputs = {"t": g.t, "q": g.q, "w": g.w, "G": g.G, "p": g.p}
        shapes: dict[str, tuple[int, ...]] = {"t": ()}
        blocks = g.blocks
        if self.solves:
            wdot = solve_spd(al, blocks["K"], blocks["k"])
            outputs = {"qdot": al.to_sx(blocks["qdot"]), "wdot": al.to_sx(wdot)}
        else:
            outputs = {name: al.to_sx(block) for name, block in blocks.items()}
            shapes |= {name: np.shape(block) for name, block in blocks.items()}
        return compile_function("right_hand_side", inputs, outputs, shapes=shapes)

    def __call__(self, t: Any, q: Any, w: Any, parameters: Any = None, constants: Any = None) -> tuple[Any, Any]:
        """q̇ and ẇ for one state, or for many with one more dimension in front.

        Args:
            parameters: all of them in order, or some by name.
            constants: momenta G of the formalism.
        """
        p = self._values(parameters)
        G = self._none if constants is None else np.asarray(constants, dtype=float)
        if constants is None and self.n_constants:
            raise DalembertError(f"this formalism has {self.n_constants} constant momenta; give them as constants=…")
        if self.solves and np.ndim(q) == 1 and np.ndim(w) == 1 and np.ndim(p) == 1 and np.ndim(t) == 0:
            return self._one(t, q, w, G, p)
        found = self.kernel(t, q, w, G, p)
        if self.solves:
            return found.qdot, found.wdot
        n, r = found.k.shape[-1], found.gamma.shape[-1]
        batch = found.k.shape[:-1]
        matrix = np.zeros((*batch, n + r, n + r))
        matrix[..., :n, :n], matrix[..., n:, :n] = found.K, found.A
        matrix[..., :n, n:] = -np.swapaxes(found.D, -1, -2)
        right = np.concatenate([found.k, -found.gamma], axis=-1)
        return found.qdot, np.linalg.solve(matrix, right[..., None])[..., :n, 0]

    def _one(self, t: Any, q: Any, w: Any, G: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """One state, straight into the machine code."""
        memory = self._memory
        if not hasattr(memory, "function"):
            memory.arrays = tuple(np.zeros(n) for n in (self.kernel.n_in, self.kernel.n_out, self.kernel.n_work))
            memory.pointers = tuple(array.ctypes.data for array in memory.arrays)
            sizes = np.cumsum([1, *self.kernel.inputs["q"], *self.kernel.inputs["w"], *self.kernel.inputs["G"]])
            memory.places = tuple(int(n) for n in sizes)
            memory.function = _NATIVE(self.kernel.address)
        x, out, _ = memory.arrays
        a, b, c, d = memory.places
        x[0], x[a:b], x[b:c], x[c:d], x[d:] = t, q, w, G, p
        memory.function(*memory.pointers)
        n = b - a
        return out[:n].copy(), out[n:].copy()

    def _values(self, parameters: Any) -> np.ndarray:
        if parameters is None:
            return self.parameters
        if isinstance(parameters, DICT):
            unknown = [name for name in parameters if name not in self.parameter_names]
            if unknown:
                raise DalembertError(
                    f"no parameter is called {unknown[0]!r}; there are {', '.join(self.parameter_names)}"
                )
            values = self.parameters.copy()
            for name, value in parameters.items():
                values[self.parameter_names.index(name)] = value
            return values
        return np.asarray(parameters, dtype=float)

    def __repr__(self) -> str:
        return (
            f"<RightHandSide of {self._graph.setup.coordinates.flat.name!r}: {self.kernel.instructions} instructions>"
        )


class _Printer(PythonCodePrinter):
    def __init__(self) -> None:
        super().__init__({"fully_qualified_modules": True})

    def _print_Rational(self, expr: sp.Rational) -> str:
        return f"{expr.p}/{expr.q}"

    def _print_Float(self, expr: sp.Float) -> str:
        return repr(float(expr))

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        if expr.exp == 2 and expr.base.is_Symbol:
            return f"{expr.base.name}**2"
        return super()._print_Pow(expr, rational=rational)


def python_source(derivation: Derivation, m: Mathematics, graph: Graph) -> str:
    """Plain Python: every value that is used more than once is computed once."""
    setup = graph.setup
    printer = _Printer()
    blocks = graph.blocks
    outputs = ca.vertcat(*(CASADI.to_sx(block) for block in blocks.values()))
    inputs = ca.vertcat(graph.t, graph.q, graph.w, graph.G, graph.p)
    symbols = [setup.t, *setup.q, *m.w, *m.G, *setup.parameters.values()]
    found = define(ca.Function("equations", [inputs], [outputs]), symbols)
    results = iter(found.results)
    arrays: dict[str, str] = {}
    for name, block in blocks.items():
        shape = np.shape(block)
        values = [str(cast(Any, printer.doprint(next(results)))) for _ in range(int(np.prod(shape)))]
        if len(shape) == 2:
            rows = [f"        [{', '.join(values[i * shape[1] : (i + 1) * shape[1]])}]," for i in range(shape[0])]
        else:
            rows = [f"        {value}," for value in values]
        arrays[name] = "[\n" + "\n".join(rows) + "\n    ]" if rows else "[]"
    constrained = np.shape(blocks["gamma"])[0] > 0
    arguments = ["t", "q", "w", *(["constants"] if m.G else []), "parameters=PARAMETERS"]
    lines = [
        f'"""{derivation.title} of the {derivation.name}. Written by dalembert."""', "",
        "import math", "", "import numpy as np", "", "PARAMETERS = {",
        *(f"    {name!r}: {value!r}," for name, value in setup.values.items()), "}", "", "",
        f"def right_hand_side({', '.join(arguments)}):",
        '    """Rates of the coordinates q and of the velocities w."""',
        *_unpacked(setup.q, "q"), *_unpacked(m.w, "w"), *_unpacked(m.G, "constants"),
        *(f"    {symbol} = parameters[{name!r}]" for name, symbol in setup.parameters.items()),
        *(f"    {s} = {printer.doprint(f)}" for s, f in zip(found.symbols, found.formulas, strict=True)),
        f"    qdot = np.array({arrays['qdot']})", f"    matrix = np.array({arrays['K']})",
        f"    forcing = np.array({arrays['k']})",
    ]  # fmt: skip
    if constrained:
        n, r = len(m.w), np.shape(blocks["gamma"])[0]
        lines += [
            f"    jacobian = np.array({arrays['A']})", f"    gamma = np.array({arrays['gamma']})",
            f"    onto = np.array({arrays['D']})",
            f"    matrix = np.block([[matrix, -onto.T], [jacobian, np.zeros(({r}, {r}))]])",
            f"    wdot = np.linalg.solve(matrix, np.concatenate([forcing, -gamma]))[:{n}]",
        ]  # fmt: skip
    else:
        lines.append("    wdot = np.linalg.solve(matrix, forcing)")
    return "\n".join([*lines, "    return qdot, wdot"]) + "\n"


def _unpacked(symbols: list[sp.Symbol], name: str) -> list[str]:
    return [f"    {', '.join(map(str, symbols))}{',' if len(symbols) == 1 else ''} = {name}"] if symbols else []
