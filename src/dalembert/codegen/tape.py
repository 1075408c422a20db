"""The instruction list of a kernel: what CasADi traced, in single-assignment form and without repeats."""

from __future__ import annotations

import functools
import hashlib
import itertools
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.codegen.lookup import row_of
from dalembert.codegen.products import Factor, Products, plan_products
from dalembert.errors import CompileError

__all__ = ["BINARY", "LIBM", "UNARY", "Tape", "libm_functions", "straight_results", "trace"]

# Our names of CasADi's operations; a name outlives the numbers, which differ between CasADi versions.
UNARY = (
    *("neg", "exp", "log", "sqrt", "sq", "twice", "inv", "sin", "cos", "tan", "asin", "acos", "atan", "not"),
    *("floor", "ceil", "fabs", "sign", "erf", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "log1p"),
    "expm1",
)
BINARY = (
    *("add", "sub", "mul", "div", "pow", "constpow", "lt", "le", "eq", "ne", "and", "or", "fmod"),
    *("remainder", "copysign", "if_else_zero", "fmin", "fmax", "atan2", "hypot"),
)
# operation -> C function; operations that are not listed have the C name already.
LIBM = {"constpow": "pow"}
_WITHOUT_LIBM = frozenset(
    {"input", "const", "add", "sub", "mul", "div", "neg", "sq", "twice", "inv", "sqrt", "fabs", "floor"}
    | {"ceil", "copysign", "fmin", "fmax", "lt", "le", "eq", "ne", "not", "and", "or", "if_else_zero", "sign"}
)
MANY_ZEROS = 64  # outputs
_COMMUTATIVE = frozenset(["add", "mul", "eq", "ne", "and", "or", "fmin", "fmax", "hypot"])

# Name of each operation, and whether it has two operands.
_OPERATIONS: dict[int, tuple[str, bool]] = {
    getattr(ca, f"OP_{name.upper()}"): (name, name in BINARY) for name in (*UNARY, *BINARY)
}
_ANY_NAME_OF = {getattr(ca, name): name[3:].lower() for name in dir(ca) if name.startswith("OP_")}


def _behind(method: str) -> Any:
    """The function behind a method of CasADi's functions, where it is found: the method costs as much again."""
    return getattr(sys.modules.get("casadi._casadi"), f"Function_{method}", None) or getattr(ca.Function, method)


_code_of: Callable[[ca.Function, int], int] = _behind("instruction_id")
_target_of: Callable[[ca.Function, int], list[int]] = _behind("instruction_output")
_operands_of: Callable[[ca.Function, int], list[int]] = _behind("instruction_input")


def libm_functions(ops: Iterable[str]) -> list[str]:
    """The C functions that a kernel with these operations may call."""
    return sorted({LIBM.get(op, op) for op in set(ops) - _WITHOUT_LIBM if " " not in op})


@dataclass(frozen=True)
class Tape:
    """A straight-line program, and products of matrices made of its values.

    Instruction k computes value k from values of smaller number.

    Attributes:
        n_in: number of scalar inputs.
        ops: operation of each instruction: ``"input"``, ``"const"``, a name in UNARY or BINARY, or ``"find 3"`` and
            ``"pick 3"``, which look for a value in row 3 of the tables, and take the value there.
        a: first operand: a value, or the number of the input or of the constant.
        b: second operand, -1 where there is none.
        constants: the distinct constants.
        results: the value of each scalar output, those of products excepted.
        products: outputs that follow by loops.
        tables: rows of numbers that are looked up.
    """

    n_in: int
    ops: list[str]
    a: array[int]
    b: array[int]
    constants: array[float]
    results: array[int]
    products: Products = field(default_factory=Products)
    tables: tuple[np.ndarray, ...] = ()

    @property
    def n_out(self) -> int:
        """Number of scalar outputs."""
        return len(self.results) + self.products.n_out

    @functools.cached_property
    def instructions(self) -> int:
        """Number of arithmetic instructions: loads, stores and constants are not counted."""
        return len(self.ops) - self.ops.count("input") - self.ops.count("const")

    @functools.cached_property
    def is_sparse(self) -> bool:
        """Whether so many outputs are zero that all are cleared first.

        Thousands of single stores would take the compiler longer than all arithmetic.
        """
        return len(self.results) - len(self._not_zero) >= MANY_ZEROS

    @functools.cached_property
    def stored(self) -> list[tuple[int, int]]:
        """(number of the output, its value) of those that are stored one by one: all, or all that are not zero."""
        if not self.is_sparse:
            return list(enumerate(self.results))
        return [(i, self.results[i]) for i in self._not_zero]

    @functools.cached_property
    def _not_zero(self) -> list[int]:
        zeros = [k for k, op in enumerate(self.ops) if op == "const" and self.constants[self.a[k]] == 0.0]
        return np.flatnonzero(~np.isin(np.frombuffer(self.results, dtype=np.int64), zeros)).tolist()

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the program, the part of the cache key that depends on the expression graph."""
        sha = hashlib.sha256(f"{self.n_in} {' '.join(self.ops)}".encode())
        for part in (self.a, self.b, self.constants, self.results):
            sha.update(f"|{len(part)}|".encode())
            sha.update(part.tobytes())
        sha.update(repr(self.products).encode())
        for row in self.tables:
            sha.update(row.tobytes())
        return sha.hexdigest()


def trace(
    name: str,
    inputs: Mapping[str, ca.SX],
    outputs: Mapping[str, ca.SX],
    products: Mapping[str, Sequence[ca.SX]] | None = None,
) -> Tape:
    """Flatten named expressions into a tape.

    Matrices are flattened row by row (the order of NumPy), whereas CasADi counts column by column:
    the flat vector of X is vec(Xᵀ).

    Args:
        name: name of the kernel, for messages.
        inputs: purely symbolic SX columns or matrices.
        outputs: SX expressions of the inputs; structural zeros become stored zeros.
        products: further outputs, each a product of SX matrices; structural zeros are left out.
    """
    for key, symbol in inputs.items():
        if not isinstance(symbol, ca.SX) or not symbol.is_valid_input():
            raise CompileError(
                f"kernel '{name}': input '{key}' must be made of SX symbols, got {_short(symbol)}.  "
                f"Fix: e.g. {key} = casadi.SX.sym('{key}', n)"
            )
    flat_in = _flatten(inputs)
    entries, places, n_results = _entries(_expression(name, key, value) for key, value in outputs.items())
    # Entries of the factors, row by row
    chains = [[factor.T for factor in _factors(name, key, given)] for key, given in (products or {}).items()]
    flat_out = ca.vertcat(entries, *(ca.vec(factor.nz[:]) for chain in chains for factor in chain))
    free = ca.symvar(ca.veccat(flat_out))
    known = {symbol.element_hash() for symbol in ca.symvar(flat_in)}
    unknown = [str(symbol) for symbol in free if symbol.element_hash() not in known]
    if unknown:
        raise CompileError(
            f"kernel '{name}': the outputs contain symbols that are not inputs: {', '.join(unknown[:10])}.  "
            f"Fix: add them to `inputs` ({', '.join(inputs) or 'none given'})"
        )
    try:
        function = ca.Function("kernel", [flat_in], [flat_out])
    except RuntimeError as error:
        raise CompileError(f"kernel '{name}': CasADi refuses the expression: {error}") from error
    tape = _read(name, function, places, n_results)
    values = iter(tape.results[n_results:])
    plan = plan_products([[_factor(factor, values) for factor in chain] for chain in chains], n_results)
    return replace(tape, results=tape.results[:n_results], products=plan)


def _factors(name: str, key: str, factors: Sequence[ca.SX]) -> Sequence[ca.SX]:
    """The factors, checked."""
    if len(factors) < 2 or any(a.shape[1] != b.shape[0] for a, b in itertools.pairwise(factors)):
        shapes = " and ".join(f"{a.shape[0]} x {a.shape[1]}" for a in factors)
        raise CompileError(f"kernel '{name}': '{key}' must have two or more factors that fit, got {shapes}")
    return factors


def _factor(transposed: ca.SX, values: Iterator[int]) -> Factor:
    """One factor, from its transpose and the values of its entries, row by row."""
    columns, rows = transposed.sparsity().get_triplet()
    entries = tuple(zip(rows, columns, strict=True))
    width, height = transposed.shape
    return Factor(height, width, entries, tuple(itertools.islice(values, len(entries))))


def _flatten(named: Mapping[str, ca.SX]) -> ca.SX:
    parts = [ca.vec(ca.densify(value).T) for value in named.values()]
    return ca.vertcat(*parts) if parts else ca.SX(0, 1)


def _entries(expressions: Iterable[ca.SX]) -> tuple[ca.SX, array[int], int]:
    """Entries of matrices that are no structural zeros, where each is in the flat vector, and its length."""
    entries: list[ca.SX] = [ca.SX(0, 1)]
    places, start = array("q"), 0
    for expression in expressions:
        turned = expression.T
        width = expression.shape[1]
        columns, rows = turned.sparsity().get_triplet()
        places.extend(start + row * width + column for row, column in zip(rows, columns, strict=True))
        entries.append(ca.vec(turned.nz[:]))
        start += expression.numel()
    return ca.vertcat(*entries), places, start


def _expression(name: str, key: str, value: Any) -> ca.SX:
    try:
        return ca.SX(value)
    except (NotImplementedError, TypeError) as error:
        raise CompileError(f"kernel '{name}': output '{key}' must be an SX expression, got {_short(value)}") from error


def _short(value: object) -> str:
    text = str(value)
    return f"{type(value).__name__} {text if len(text) < 60 else text[:57] + '...'}"


def _read(name: str, function: ca.Function, places: array[int], n_results: int) -> Tape:
    """Read CasADi's instruction list; repeated subexpressions are found by value numbering.

    CasADi's instructions write to reusable slots of a work vector; ``slot`` maps a slot to the value
    that it holds at this point of the list.

    Args:
        places: where the first outputs of the function belong among the results; between them are zeros.
        n_results: how many results these make; what the function gives besides follows them.
    """
    build = _Builder(int(function.nnz_in(0)))
    slot: list[int] = [0] * int(function.sz_w())
    given = array("q", [0]) * int(function.nnz_out(0))
    for k in range(function.n_instructions()):
        code = _code_of(function, k)
        known = _OPERATIONS.get(code)
        if known is not None:
            operation, binary = known
            operands = _operands_of(function, k)
            second = slot[operands[1]] if binary else -1
            slot[_target_of(function, k)[0]] = build.value(operation, slot[operands[0]], second)
        elif code == ca.OP_OUTPUT:
            given[_target_of(function, k)[1]] = slot[_operands_of(function, k)[0]]
        elif code == ca.OP_INPUT:
            slot[_target_of(function, k)[0]] = build.value("input", _operands_of(function, k)[1])
        elif code == ca.OP_CONST:
            slot[_target_of(function, k)[0]] = build.constant(function.instruction_constant(k))
        elif code == ca.OP_ASSIGN:
            slot[_target_of(function, k)[0]] = slot[_operands_of(function, k)[0]]
        else:
            raise CompileError(
                f"kernel '{name}': operation '{_ANY_NAME_OF.get(code, code)}' cannot be compiled.  "
                f"Fix: use only {', '.join((*UNARY, *BINARY))}"
            )
    results = array("q", [build.constant(0.0)] if len(places) < n_results else [0]) * n_results
    for place, number in zip(places, given, strict=False):
        results[place] = number
    results.extend(given[len(places) :])
    return build.finish(results)


class _Builder:
    """Hands out value numbers: the same operation on the same operands is the same value."""

    def __init__(self, n_in: int):
        self.n_in = n_in
        self.ops: list[str] = []
        self.a = array("q")
        self.b = array("q")
        self.constants = array("d")
        self._seen: dict[tuple[str, int, int], int] = {}
        self._constant_seen: dict[str, int] = {}
        self._tables: list[np.ndarray] = []

    def value(self, op: str, a: int, b: int = -1) -> int:
        if op in _COMMUTATIVE and b < a:
            a, b = b, a
        if op == "floor":
            op, a = self._looked_up(a) or (op, a)
        key = (op, a, b)
        number = self._seen.get(key)
        if number is None:
            number = self._seen[key] = len(self.ops)
            self.ops.append(op)
            self.a.append(a)
            self.b.append(b)
        return number

    def _looked_up(self, a: int) -> tuple[str, int] | None:
        """The search behind floor(√min(x, K)), see ``lookup``."""
        if self.ops[a] != "sqrt" or self.ops[self.a[a]] != "fmin":
            return None
        for x, other in ((self.a, self.b), (self.b, self.a)):
            place = other[self.a[a]]
            row = row_of(self.constants[self.a[place]]) if self.ops[place] == "const" else None
            if row is not None:
                kind, values = row
                known = next((i for i, held in enumerate(self._tables) if held is values), len(self._tables))
                if known == len(self._tables):
                    self._tables.append(values)
                return f"{kind} {known}", x[self.a[a]]
        return None

    def constant(self, value: float) -> int:
        # float.hex keeps 0.0 and -0.0 apart and makes one constant of all NaN.
        key = float(value).hex()
        if key not in self._constant_seen:
            self._constant_seen[key] = len(self.constants)
            self.constants.append(value)
        return self.value("const", self._constant_seen[key])

    def finish(self, results: array[int]) -> Tape:
        tape = Tape(self.n_in, self.ops, self.a, self.b, self.constants, results, tables=tuple(self._tables))
        return _pair_sine_and_cosine(tape)


def _pair_sine_and_cosine(tape: Tape) -> Tape:
    """Move sin(x) and cos(x) of the same x next to each other, so that one reduction serves both."""
    partner: dict[int, int] = {}
    first: dict[int, int] = {}
    for k, op in enumerate(tape.ops):
        if op in ("sin", "cos"):
            if tape.a[k] in first:
                partner[first[tape.a[k]]] = k
            else:
                first[tape.a[k]] = k
    if not partner:
        return tape
    moved = set(partner.values())
    order: list[int] = []
    for k in range(len(tape.ops)):
        if k not in moved:
            order.append(k)
            if k in partner:
                order.append(partner[k])
    new = [0] * len(order)
    for position, k in enumerate(order):
        new[k] = position
    ops = [tape.ops[k] for k in order]
    leaf = ("input", "const")
    a = array("q", (tape.a[k] if tape.ops[k] in leaf else new[tape.a[k]] for k in order))
    b = array("q", (-1 if tape.b[k] < 0 else new[tape.b[k]] for k in order))
    results = array("q", (new[v] for v in tape.results))
    return Tape(tape.n_in, ops, a, b, tape.constants, results, tables=tape.tables)


# How a value changes with the first inputs: not, along a straight line (sums of them times numbers that do not depend
# on them), or otherwise.
FIXED, STRAIGHT, BENT = range(3)


def straight_results(tape: Tape, moving: int) -> np.ndarray:
    """1 for each result that the first ``moving`` inputs change along a straight line, else 0."""
    kinds: list[int] = []
    for op, a, b in zip(tape.ops, tape.a, tape.b, strict=True):
        if op == "input":
            kind = STRAIGHT if a < moving else FIXED
        elif op == "const":
            kind = FIXED
        else:
            kind = _bend(op, kinds[a], FIXED if b < 0 else kinds[b])
        kinds.append(kind)
    return np.array([kinds[k] != BENT for k in tape.results], dtype=np.int64)


def _bend(op: str, first: int, second: int) -> int:
    """Of an operation, by those of its operands."""
    most = max(first, second)
    if most != STRAIGHT or op in ("add", "sub", "neg", "twice"):
        return most
    one_moves = op == "mul" and FIXED in (first, second)
    of_a_kind = op in ("div", "if_else_zero") and (second if op == "div" else first) == FIXED
    return STRAIGHT if one_moves or of_a_kind else BENT
