"""Rows of a tree of subsystems as numbers at a reference, with their derivatives: what linearization begins with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import casadi
import numpy as np

from dalembert.algebra import NUMPY
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.errors import ModelError, Problem
from dalembert.expressions import evaluate, values_by_name
from dalembert.modular.description import Description, Invariant
from dalembert.modular.labeled_matrix import ONE
from dalembert.modular.labels import Label
from dalembert.modular.modular_equations import ModularEquations

__all__ = [
    "Evaluated", "KnownRows", "Numbers", "linearizable", "numbers_of", "reference", "reference_slope", "with_known",
]  # fmt: skip

ca: Any = casadi
CONSISTENT = 1e-8  # residual of invariants at a reference
STEPS = 30
HALVES = ("lower", "top", "entries", "forces", "rates")


@dataclass(frozen=True)
class Evaluated:
    """Values of rows at a reference, and their derivatives by ``Numbers.moving``."""

    lower: np.ndarray
    top: np.ndarray
    entries: np.ndarray
    forces: np.ndarray
    rates: np.ndarray
    lower_by: np.ndarray
    top_by: np.ndarray
    entries_by: np.ndarray
    forces_by: np.ndarray
    rates_by: np.ndarray


@dataclass(frozen=True)
class KnownRows:
    """The linear rows of a subsystem about a reference, without its equations: numbers, at a place in a tree.

    Rows of the highest order, forces and rates are affine in z = q⟨σ⟩, so each is kept for z = 0 together with its
    derivatives by z, and their derivatives: the accelerations of the whole need not be those of the part alone.

    Attributes:
        path: of the subsystem.
        values: of its variables below order σ, its inputs and parameters at the reference, as the whole calls them.
        moving: variables below order σ and inputs;  z: those of order σ.
        lower, top, states: labels;  entries: (row, column) of A;  forces: (path of the node, variable).
        still: rows for z = 0 and their derivatives by ``moving`` and z.
        by_z: derivatives of those derivatives by each of z.
    """

    path: tuple[str, ...]
    order: int
    values: dict[str, float]
    moving: list[str]
    z: list[str]
    lower: list[Label]
    top: list[Label]
    states: list[Label]
    entries: list[tuple[Label, Label]]
    forces: list[tuple[tuple[str, ...], Label]]
    still: Evaluated
    by_z: list[Evaluated]

    @classmethod
    def of(cls, equations: ModularEquations, values: Mapping[str, complex], path: tuple[str, ...]) -> KnownRows:
        """Of a system at a reference, to be placed as a part."""
        numbers = numbers_of(equations)
        z = [str(label) for label in equations.top]
        rest = {name: complex(value).real for name, value in values.items()} | dict.fromkeys(z, 0.0)

        def place(label: Label) -> Label:
            return Label(path + label.path, label.name, label.order, label.base)

        def named(name: str) -> str:
            return ".".join((*path, name))

        by_z = [_imaginary(numbers({**rest, name: 1j})) for name in z]
        moving = [name for name in numbers.moving if name not in set(z)]
        known = {named(name): rest[name] for name in (*moving, *equations.parameters)}
        return cls(
            path, equations.order, known, [named(name) for name in moving], [named(name) for name in z],
            [place(label) for label in numbers.lower], [place(label) for label in numbers.top],
            [place(label) for label in equations.state],
            [(place(row), place(column)) for row, column in numbers.entries],
            [(path + node, place(label)) for node, label in numbers.forces],
            _ordered(numbers(rest), numbers.moving, [*moving, *z]),
            [_ordered(one, numbers.moving, [*moving, *z]) for one in by_z],
        )  # fmt: skip

    def at(self, values: Mapping[str, complex]) -> Evaluated:
        """The rows at numbers next to the reference, and their derivatives by ``moving`` and z."""
        n = len(self.moving)
        dx = np.array([values[name] - self.values[name] for name in self.moving])
        z = [values[name] for name in self.z]
        found: dict[str, Any] = {}
        for half in HALVES:
            value, slopes = getattr(self.still, half), getattr(self.still, f"{half}_by")
            for zj, change in zip(z, self.by_z, strict=True):
                slopes = slopes + getattr(change, f"{half}_by") * zj
            slopes = np.array(slopes, dtype=np.result_type(slopes, dx))
            for j, change in enumerate(self.by_z):
                slopes[:, n + j] += getattr(change, f"{half}_by")[:, :n] @ dx
            still: np.ndarray = getattr(self.still, f"{half}_by")
            found[half] = value + still[:, :n] @ dx + slopes[:, n:] @ np.array(z)
            found[f"{half}_by"] = slopes
        return Evaluated(**found)


def _imaginary(at: Evaluated) -> Evaluated:
    return Evaluated(**{one.name: np.imag(getattr(at, one.name)) for one in fields(at)})


def _ordered(at: Evaluated, names: Sequence[str], wanted: Sequence[str]) -> Evaluated:
    """The same with derivatives in another order."""
    columns = [names.index(name) for name in wanted]
    return replace(at, **{f"{half}_by": getattr(at, f"{half}_by")[:, columns] for half in HALVES})


class Numbers:
    """Values and derivatives of all rows of a tree as functions of all symbols; traced once for a description.

    Attributes:
        moving: names of variables of the state, of order σ, and of inputs: what derivatives are taken by.
        lower: labels of invariants below order σ.  top: those at order σ.
        entries: (row, column) of the entries of A.  forces: (path of the node, variable).
        known: rows of parts that are numbers already.
    """

    def __init__(self, equations: ModularEquations, known: Sequence[KnownRows] = ()):
        traced = equations.casadi
        self.known = tuple(known)
        self.others = [name for name in traced.others if name not in equations.inputs]
        self.moving = [*map(str, equations.state), *map(str, equations.top), *equations.inputs]
        self.state = list(equations.state)
        self.lower = [label for label, _ in traced.lower]
        z = {label: traced.symbols[str(label)] for label in equations.top}
        self.top: list[Label] = []
        self.entries: list[tuple[Label, Label]] = []
        self.forces: list[tuple[tuple[str, ...], Label]] = []
        residuals: list[Any] = []
        coefficients: list[Any] = []
        forces: list[Any] = []
        for path, own in traced.own.items():
            for row in own.rows:
                values = own.A.entries.get(row, {})
                self.top.append(row)
                residuals.append(sum((a * z[c] for c, a in values.items()), own.b.get(row, ONE)))
                self.entries += [(row, column) for column in values]
                coefficients += list(values.values())
            rows = [row for row in own.forces.rows if row in own.forces.entries]
            self.forces += [(path, row) for row in rows]
            forces += [own.forces.get(row, ONE) for row in rows]
        parts = [[value for _, value in traced.lower], residuals, coefficients, forces, list(traced.rates)]
        columns = [CASADI.to_sx(np.array(part, dtype=object)) for part in parts]
        moving: Any = traced.column(self.moving)
        others: Any = traced.column(self.others)
        self._symbols = [moving, others]
        self._graphs: list[Any] = columns + [ca.jacobian(c, moving) for c in columns]
        self.function: Any = ca.Function("linear", self._symbols, self._graphs)
        for one in self.known:
            self.lower += one.lower
            self.top += one.top
            self.entries += one.entries
            self.forces += one.forces

    @cached_property
    def _along(self) -> Any:
        """Derivatives of everything along a direction of (moving, others)."""
        directions = [ca.SX.sym(f"d{k}", symbols.shape[0]) for k, symbols in enumerate(self._symbols)]
        arguments, direction = ca.vertcat(*self._symbols), ca.vertcat(*directions)
        slopes = [ca.jtimes(ca.vec(ca.densify(graph)), arguments, direction) for graph in self._graphs]
        shaped = [ca.reshape(slope, *graph.shape) for slope, graph in zip(slopes, self._graphs, strict=True)]
        return ca.Function("along", [*self._symbols, *directions], shaped)

    def __call__(self, values: Mapping[str, complex]) -> Evaluated:
        """At numbers. The imaginary part of a number, if any, is a small change of it, and so in the results: exact, as
        nothing here is multiplied out (and with changes of 1e-30 also in products that follow)."""
        at = [np.array([values[name] for name in names]) for names in (self.moving, self.others)]
        arrays = [np.asarray(part.full()) for part in self.function(*map(np.real, at))]
        if any(np.iscomplexobj(part) for part in at):
            slopes = self._along(*map(np.real, at), *map(np.imag, at))
            arrays = [one + 1j * np.asarray(slope.full()) for one, slope in zip(arrays, slopes, strict=True)]
        found = Evaluated(*(part[:, 0] for part in arrays[:5]), *arrays[5:])
        return self._with_known(found, values) if self.known else found

    def _with_known(self, own: Evaluated, values: Mapping[str, complex]) -> Evaluated:
        place = {name: i for i, name in enumerate(self.moving)}
        found: dict[str, Any] = {one.name: getattr(own, one.name) for one in fields(own)}
        for part in self.known:
            rows, columns = part.at(values), [place[name] for name in (*part.moving, *part.z)]
            at = [self.state.index(label) for label in part.states]
            for half in HALVES:
                value, slopes = getattr(rows, half), getattr(rows, f"{half}_by")
                wide = np.zeros((len(value), len(self.moving)), dtype=slopes.dtype)
                wide[:, columns] = slopes
                if half == "rates":
                    kind = np.result_type(found["rates"], value)
                    found["rates"] = np.array(found["rates"], dtype=kind)
                    found["rates_by"] = np.array(found["rates_by"], dtype=kind)
                    found["rates"][at], found["rates_by"][at] = value, wide
                else:
                    found[half] = np.concatenate([found[half], value])
                    found[f"{half}_by"] = np.concatenate([found[f"{half}_by"], wide])
        return Evaluated(**found)


def linearizable(equations: ModularEquations) -> ModularEquations:
    """The same system such that forces are of its order σ: itself, or with f̄ = 0 as further invariants.

    Where invariants are of higher order than forces, the dynamic equations are differentiated like invariants.
    """
    if equations.order <= max(equations.force_order, 0):
        return equations
    memo, key = equations.description.memo, ("linearizable", equations.order, equations.strategy)
    if key not in memo:
        bare = _without_forces(equations.description)
        rows = [(row.text.replace(".", "_"), equations.f_bar.get(row, ONE)) for row in equations.f_bar.rows]
        balances = tuple(Invariant(f"balance_of_{name}", value) for name, value in rows)
        memo[key] = replace(bare, invariants=(*bare.invariants, *balances), memo={})
    return ModularEquations(
        equations.name, memo[key], equations.parameters, equations.guesses, equations.order, equations.strategy
    )


def _without_forces(d: Description) -> Description:
    parts = tuple(replace(part, description=_without_forces(part.description)) for part in d.parts)
    return replace(d, forces=(), parts=parts, independent=(), memo={})


def with_known(equations: ModularEquations, known: Sequence[KnownRows]) -> ModularEquations:
    """The same system, in which parts that are known have variables, but no equations of their own.

    Raises:
        ModelError: where parts cannot enter as numbers.
    """
    name = equations.name
    wrong = [one for one in known if one.order != equations.order]
    if wrong or equations.order > max(equations.force_order, 0):
        orders = ", ".join(f"{'.'.join(one.path)} {one.order}" for one in known)
        raise ModelError(
            Problem(f"known: subsystem {name!r} has order {equations.order}, forces of order {equations.force_order}; "
                    f"known are of order {orders}", fix="linearize without known={…}")
        )  # fmt: skip
    paths = {one.path for one in known}
    inside = [path for path in paths if any(path != other and path[: len(other)] == other for other in paths)]
    if inside:
        raise ModelError(Problem(f"known: {'.'.join(inside[0])!r} is a part of another one that is known"))
    memo, key = equations.description.memo, ("with known", *sorted(paths))
    if key not in memo:
        memo[key] = _bare_at(equations.description, paths, ())
    made = ModularEquations(
        name, memo[key], equations.parameters, equations.guesses, equations.order, equations.strategy
    )
    labels = {*made.state, *made.top}
    for one in known:
        if missing := [str(label) for label in one.states if label not in labels]:
            raise ModelError(
                Problem(f"known: subsystem {name!r} has no {', '.join(missing[:4])}", fix="linearize this very part")
            )
        if connected := [x for x in one.moving if x not in set(map(str, made.state)) and x not in made.inputs]:
            raise ModelError(
                Problem(f"known: the input {connected[0]!r} is given by the owner of {'.'.join(one.path)!r}",
                        fix="an input of the whole, with the forces that it causes given there")
            )  # fmt: skip
    return made


def _bare_at(d: Description, paths: Iterable[tuple[str, ...]], here: tuple[str, ...]) -> Description:
    """A description without rows at some paths and below."""
    if any(here[: len(path)] == path for path in paths):
        d = replace(d, invariants=(), forces=(), identities=(), memo={})
    parts = tuple(replace(p, description=_bare_at(p.description, paths, (*here, p.name))) for p in d.parts)
    return replace(d, parts=parts, memo={})


def numbers_of(equations: ModularEquations, known: Sequence[KnownRows] = ()) -> Numbers:
    """The rows of a tree as one function; traced once."""
    memo, key = equations.description.memo, ("linear", equations.order)
    if known:
        return Numbers(equations, known)
    if key not in memo:
        memo[key] = Numbers(equations)
    return memo[key]


def reference(
    equations: ModularEquations,
    given: Mapping[str, float],
    parameters: Mapping[str, float],
    lenient: bool,
    start: Mapping[str, float] | None = None,
    numbers: Numbers | None = None,
) -> tuple[dict[str, float], dict[str, float]]:
    """Numbers of all symbols at a reference: what is given stays, the rest is zero or meets the invariants.

    Args:
        start: values to begin with instead of the guesses of the description.
        numbers: the rows, where some are known.

    Returns:
        the numbers, and what is left of invariants, by name.

    Raises:
        ModelError: naming invariants that are not met, unless ``lenient``.
    """
    numbers = numbers or numbers_of(equations)
    values = _first_values(equations, numbers, {**(start or {}), **parameters, **given}, parameters)
    held = {*given, *(name for one in numbers.known for name in one.values)}
    left: dict[str, float] = {}
    for order in range(equations.order):
        rows = [i for i, label in enumerate(numbers.lower) if label.order == order]
        if not rows:
            continue
        if not (lenient and order == 0):
            free = [str(label) for label in equations.state if label.order == order and str(label) not in held]
            _meet(numbers, rows, free, values)
        at = numbers(values)
        bad = {numbers.lower[i]: at.lower[i] for i in rows if not abs(at.lower[i]) < CONSISTENT}
        left |= {f"{label.text} at order {order}": float(value) for label, value in bad.items()}
    if left and not lenient:
        shown = ", ".join(f"{name} ({value:.3g})" for name, value in list(left.items())[:6])
        raise ModelError(
            Problem(
                f"subsystem {equations.name!r}: the reference does not meet its invariants; left over: {shown}",
                fix="linearize known parts at the reference that they have in the whole"
                if numbers.known
                else "give more of the reference in at={…}, or a guess",
            )
        )
    _stay(equations, numbers, values)
    return values, left


def _first_values(
    equations: ModularEquations, numbers: Numbers, given: Mapping[str, float], parameters: Mapping[str, float]
) -> dict[str, float]:
    """Zero, unless the description, a known part or, above all, the caller says otherwise."""
    missing = [name for name, value in equations.parameters.items() if value is None and name not in parameters]
    if missing:
        raise ModelError(Problem(f"subsystem {equations.name!r}: parameters without values: {', '.join(missing)}"))
    values = dict.fromkeys([*numbers.moving, *numbers.others], 0.0)
    values |= {name: value for name, value in equations.parameters.items() if value is not None}
    for known in (equations.guesses, *(one.values for one in numbers.known)):
        values |= {name: value for name, value in known.items() if name in values}
    return {**values, **given}


def _meet(numbers: Numbers, rows: Sequence[int], free: Sequence[str], values: dict[str, float]) -> None:
    """The nearest values of what is free that make the rows zero, by Newton's method."""
    place = {name: i for i, name in enumerate(numbers.moving)}
    columns = [place[name] for name in free]
    for _ in range(STEPS):
        at = numbers(values)
        if np.abs(at.lower[rows]).max() < 1e-14:
            break
        step = -np.linalg.lstsq(at.lower_by[np.ix_(rows, columns)], at.lower[rows], rcond=1e-10)[0]
        values |= {name: values[name] + float(d) for name, d in zip(free, step, strict=True)}
        if np.abs(step).max(initial=0.0) < 1e-15 * (1 + np.abs(list(values.values())).max()):
            break


def _stay(equations: ModularEquations, numbers: Numbers, values: Mapping[str, float]) -> None:
    """Parts that are known must be at the reference, with the parameters, for which they are."""
    for one in numbers.known:
        now = {**values, **_given_parameters(equations, one.path, values)}
        moved = {
            name: (value, now[name])
            for name, value in one.values.items()
            if not abs(now[name] - value) <= CONSISTENT * (1 + abs(value))
        }
        if moved:
            shown = ", ".join(f"{name} = {was:.6g}, here {here:.6g}" for name, (was, here) in list(moved.items())[:4])
            raise ModelError(
                Problem(
                    f"subsystem {equations.name!r}: {'.'.join(one.path)!r} is known for {shown}",
                    fix="linearize the part at the reference that it has in the whole",
                )
            )


def _given_parameters(
    equations: ModularEquations, path: tuple[str, ...], values: Mapping[str, float]
) -> dict[str, float]:
    """Parameters of a part and below it that their owners give as formulas."""
    found: dict[str, float] = {}
    for node in equations.nodes:
        if node.path[: len(path)] != path:
            continue
        for name in node.description.parameters:
            full = ".".join((*node.path, name))
            if full not in values:
                found[full] = float(evaluate(NUMPY, node.at_root(name), values_by_name(values)))
    return found


def reference_slope(
    equations: ModularEquations,
    numbers: Numbers,
    values: Mapping[str, float],
    given: Mapping[str, float],
    parameter: str,
) -> dict[str, float]:
    """How the variables of a reference below order σ follow a parameter.

    Those that are given change as said, the others by as little as the invariants allow.

    Args:
        given: variables that were given, with their derivatives by the parameter.
    """
    slope = dict.fromkeys(values, 0.0) | dict(given) | {parameter: 1.0}
    place = {name: i for i, name in enumerate(numbers.moving)}
    for order in range(equations.order):
        rows = [i for i, label in enumerate(numbers.lower) if label.order == order]
        names = [str(label) for label in equations.state if label.order == order and str(label) not in given]
        if not rows or not names:
            continue
        at = numbers({name: value + 1j * slope[name] for name, value in values.items()})
        J = np.real(at.lower_by)[np.ix_(rows, [place[name] for name in names])]
        change = -np.linalg.lstsq(J, np.imag(at.lower)[rows], rcond=1e-10)[0]
        slope |= dict(zip(names, map(float, change), strict=True))
    return slope
