"""Validation of formulas: what they name, where they stand, and whether they have a value."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.algebra import NUMPY
from dalembert.elements import Allowed, Record
from dalembert.elements.allowed import DEFLECTION, OF_FORCES, OF_POSITION, OF_VELOCITY, PARAMETERS
from dalembert.elements.base import formulas_in
from dalembert.errors import ExpressionError
from dalembert.expressions import STATE, TIME, GridCall, Reference, evaluate, tables_in, to_text
from dalembert.expressions.parse import FUNCTIONS
from dalembert.expressions.symbols import (
    ACCELERATION_QUANTITIES,
    BODY_QUANTITIES,
    COMPONENTS,
    LINE_QUANTITIES,
    QUANTITIES,
    REACTION,
    ROTATION_QUANTITIES,
    TORQUE,
    TURN_QUANTITIES,
    as_reference,
    parameters_of,
)
from dalembert.model.validate_scope import Place, hint

__all__ = ["check_formula", "check_formulas"]

TRIALS = 8  # of linearity; a nonlinear formula passes one with probability zero
LINEAR_TOLERANCE = 1e-9  # relative; round-off of a formula is about 1e-15


def check_formulas(place: Place, path: str, title: str, record: Record) -> None:
    """Check every formula inside an element."""
    implied = {key for key, value in record.implied().items() if getattr(record, key) == value}
    for at, owner, key, formula in formulas_in(record):
        if implied and re.split(r"[.\[]", at, maxsplit=1)[0] in implied:
            continue
        check_formula(place, f"{path}.{at}", f"{title}: {at}", formula, owner.may_name(key))


def check_formula(place: Place, path: str, title: str, formula: Any, allowed: Allowed = PARAMETERS) -> None:
    """Check one formula."""
    before = len(place.found)
    if not formula.is_Number:
        try:
            _check_names(place, path, title, formula, allowed)
            if len(place.found) == before:
                _check_value(place, path, title, formula, allowed)
        except RecursionError:
            place.report(path, f"{title}: the formula is nested too deeply", "name parts of it as parameters")
    elif not math.isfinite(_as_float(formula)):
        place.report(path, f"{title}: expected a finite number, got {formula}")
    fine = len(place.found) == before
    if fine and allowed.linear:
        _check_linear(place, path, title, formula)
    if fine and allowed.moving and not _moves(place, formula):
        message = f"{title}: {_short(formula)!r} never passes through zero: it names neither t nor the motion"
        place.report(path, message, "e.g. when: q(A) - 1, or when: t - 2")
    for name in sorted(set(allowed.local) & set(place.values)):
        if sp.Symbol(name, real=True) in formula.free_symbols:
            message = f"{title}: {name!r} is both a parameter and a quantity of the {_owner(allowed)}"
            place.report(path, message, "rename the parameter")


def _owner(allowed: Allowed) -> str:
    owners = {LINE_QUANTITIES: "strut", TURN_QUANTITIES: "torsion element", DEFLECTION.local: "bushing"}
    return owners.get(allowed.local, "custom joint")


def _moves(place: Place, formula: Any) -> bool:
    """True if it names time, motion, a state or an input."""
    if TIME in formula.free_symbols or formula.atoms(AppliedUndef):
        return True
    return any(symbol.name in place.signals for symbol in parameters_of(formula))


def _as_float(formula: Any) -> float:
    try:
        return float(formula)
    except (OverflowError, TypeError):
        return math.nan


def _check_names(place: Place, path: str, title: str, formula: Any, allowed: Allowed) -> None:
    for symbol in sorted(parameters_of(formula), key=str):
        if symbol.name in place.signals:
            _check_signal(place, path, title, formula, allowed, symbol.name)
        elif not (symbol.name in place.values or symbol.name in allowed.local or symbol.name in place.known_parameters):
            fix = _meant(place, symbol.name, allowed)
            place.report(path, f"{title}: unknown parameter {symbol.name!r} in {_short(formula)!r}", fix)
    for table, count in sorted({(call.table, 2 if isinstance(call, GridCall) else 1) for call in tables_in(formula)}):
        _check_table(place, path, title, formula, table, count)
    if TIME in formula.free_symbols and not allowed.time:
        place.report(path, f"{title}: {_short(formula)!r} depends on time; {allowed.rule}", "use a parameter")
    for atom in sorted(formula.atoms(AppliedUndef), key=str):
        _check_reference(place, path, title, atom, allowed)


def _meant(place: Place, name: str, allowed: Allowed) -> str:
    """What an unknown name was probably meant to be."""
    head, _, tail = name.rpartition(".")
    if place.is_joint(name) and "q" in allowed.quantities:
        return f"did you mean q({name})?"
    if tail in allowed.quantities and (head in place.bodies or place.is_joint(head)):
        return f"did you mean {tail}({head})?"
    if name.lower() == "time" and allowed.time:
        return "time is t"
    if name == "t":
        return "time is the symbol model.t, or 't' in a text"
    return hint(name, {*place.known_parameters, *place.signals, *allowed.local})


def _check_table(place: Place, path: str, title: str, formula: Any, table: str, count: int) -> None:
    """A table that is called with so many arguments exists and takes them."""
    if place.signals.get(table) != "table":
        known = [*FUNCTIONS, *QUANTITIES, *(name for name, kind in place.signals.items() if kind == "table")]
        message = f"{title}: unknown function {table!r} in {_short(formula)!r}"
        place.report(path, message, f"{hint(table, known)}; or add a table of this name")
        return
    found = place.named_in("tables").get(table)
    if found is not None and count != (2 if found.z else 1):
        message = f"{title}: table {table!r} takes {3 - count} argument{'s' * (count < 2)}, got {count}"
        place.report(path, f"{message}, in {_short(formula)!r}", f"{table}({'x, y' if count < 2 else 'x'})")


def _check_signal(place: Place, path: str, title: str, formula: Any, allowed: Allowed, name: str) -> None:
    """States stand where motion may, inputs where time may; tables are called."""
    kind = place.signals[name]
    if kind == "table":
        place.report(path, f"{title}: {name!r} is a table and needs an argument in {_short(formula)!r}", f"{name}(t)")
    elif kind == "state" and STATE not in allowed.quantities:
        rule = allowed.rule or "constraints may not depend on states"
        place.report(path, f"{title}: {_short(formula)!r} names the state {name!r}; {rule}", "use it in a force")
    elif kind == "input" and not allowed.time:
        rule = allowed.rule or "this value may not change with time"
        place.report(path, f"{title}: {_short(formula)!r} names the input {name!r}; {rule}", "use a parameter")


def _check_reference(place: Place, path: str, title: str, atom: Any, allowed: Allowed) -> None:
    """A quantity of an element, such as q(A): it may stand here, and the element is there and has it."""
    quantity, args = type(atom).__name__, atom.args
    fits = args and args[0].is_Symbol and all(arg.is_Integer and arg >= 0 for arg in args[1:]) and len(args) < 3
    if quantity not in OF_POSITION | OF_VELOCITY | OF_FORCES or not fits:
        fix = f"references are {', '.join(QUANTITIES)} of an element"
        place.report(path, f"{title}: {_short(atom)!r} is not understood in a formula", fix)
        return
    ref = as_reference(atom)

    def report(message: str, fix: str) -> None:
        place.report(path, f"{title}: {_short(atom)!r}{message}", fix)

    if quantity not in allowed.quantities:
        what = "accelerations and forces that are not computed yet" if quantity in OF_FORCES else "the motion"
        rule = allowed.rule or "this formula is needed before they are"
        report(f" depends on {what}; {rule}", "use a parameter")
    elif quantity in (*LINE_QUANTITIES, *TURN_QUANTITIES):
        forces = {name: force for name, force in place.named_in("forces").items() if _measures(force, quantity)}
        if ref.element not in forces:
            what = "torsion element" if quantity == "angle" else "spring or strut"
            report(f": no {what} {ref.element!r}", hint(ref.element, forces))
    elif quantity == TORQUE or (quantity == REACTION and ref.element in place.named_in("constraints")):
        known = place.named_in("constraints")
        if ref.element not in known:
            report(f": no constraint {ref.element!r}", hint(ref.element, known))
        elif quantity == REACTION and COMPONENTS[ref.index] != "normal":
            report(": of a constraint only its normal force", "normal")
    elif quantity in (*BODY_QUANTITIES, *ROTATION_QUANTITIES, *ACCELERATION_QUANTITIES):
        if ref.element not in place.named_in("points"):
            place.check_body(path, title, ref.element)
    elif place.check_joint(path, title, ref.element) and quantity != REACTION:
        _check_index(place, ref, report)


def _check_index(place: Place, ref: Reference, report: Callable[[str, str], None]) -> None:
    """A joint has the coordinate or velocity of this number."""
    sizes = place.sizes(ref.element)
    count = None if sizes is None else sizes.nq if ref.quantity == "q" else sizes.nv
    if count is not None and ref.index >= count:
        what = "coordinates" if ref.quantity == "q" else "velocities"
        fix = f"an index from 0 to {count - 1}" if count else "choose another joint"
        report(f": joint {ref.element!r} has {count} {what}, index {ref.index} is none", fix)


def _measures(force: Any, quantity: str) -> bool:
    """Whether a force has a length, an angle, or one of them whose rate is meant."""
    turns, has_ends = force.turns, force.ends() is not None
    return {"length": has_ends, "angle": turns}.get(quantity, turns or has_ends)


def _short(formula: Any) -> str:
    try:
        text = to_text(formula)
    except (AttributeError, TypeError, ValueError, IndexError):
        text = str(formula)  # made in Python from what no text can say
    return text if len(text) <= 60 else text[:57] + "..."


def _check_value(place: Place, path: str, title: str, formula: Any, allowed: Allowed) -> None:
    """Every function must be known, and parts that no motion can change must be finite."""
    reason = _misunderstood(place, formula)
    if reason:
        place.report(path, f"{title}: {reason}")
        return
    for part in _constant_parts(formula, allowed.local):
        if place.value(part) is None and not _names_inner(place, part):
            inside = "" if part == formula else f" in {_short(formula)!r}"
            values = ", ".join(f"{s.name} = {place.values[s.name]:g}" for s in sorted(parameters_of(part), key=str))
            given = f" for {values}" if values else ""
            place.report(path, f"{title}: {_short(part)!r}{inside} has no finite value{given}", "change a parameter")


def _misunderstood(place: Place, formula: Any) -> str:
    """Why a formula cannot be evaluated for any motion; empty if it can."""
    try:
        _evaluate(place, formula, {}, random.Random(0))
    except ExpressionError as error:
        return str(error)
    except (AttributeError, TypeError):
        return f"{_short(formula)!r} is not understood in a formula"
    except (ArithmeticError, ValueError):
        return ""  # outside its domain for this motion, which was drawn at random
    return ""


def _names_inner(place: Place, part: Any) -> bool:
    """True if the formula names parameters of sub-models, whose values are not at hand here."""
    return any(symbol.name not in place.values for symbol in parameters_of(part))


def _constant_parts(formula: Any, local: tuple[str, ...]) -> Iterator[Any]:
    """The largest parts without time and motion; not the branches of a choice, which may not be taken."""
    if formula.is_Number:
        return
    moving = formula.atoms(AppliedUndef) or any(s == TIME or s.name in local for s in formula.free_symbols)
    if not moving:
        yield formula
    elif not isinstance(formula, (AppliedUndef, sp.Piecewise)):
        for part in formula.args:
            yield from _constant_parts(part, local)


def _evaluate(place: Place, formula: Any, given: dict[Any, float], rng: random.Random) -> float:
    """The value for given motion; what is not given is drawn once and kept in ``given``."""

    def lookup(atom: sp.Symbol | Reference) -> float:
        name = atom if isinstance(atom, Reference) else atom.name
        if isinstance(atom, sp.Symbol) and atom.name in place.values:
            return place.values[atom.name]
        return given.setdefault(name, rng.choice((-1, 1)) * rng.uniform(0.1, 2.0))

    return float(evaluate(NUMPY, place.with_curves(formula), lookup))


def _check_linear(place: Place, path: str, title: str, formula: sp.Expr) -> None:
    """f((a + b)/2) = (f(a) + f(b))/2 for velocities a, b at random."""
    refs = [as_reference(atom) for atom in formula.atoms(AppliedUndef)]
    speeds = sorted((ref for ref in refs if ref.quantity in OF_VELOCITY), key=str)
    guilty = [ref for ref in speeds if not _is_affine(place, formula, [ref])]
    if not guilty and not _is_affine(place, formula, speeds):
        guilty = speeds
    if guilty:
        names = ", ".join(f"{ref.quantity}({ref.element}{f', {ref.index}' if ref.index else ''})" for ref in guilty)
        message = f"{title}: must be linear in velocities, but {_short(formula)!r} is not, in {names}"
        place.report(path, message, "write it as a sum of (formula of positions) * velocity")


def _is_affine(place: Place, formula: sp.Expr, speeds: list[Reference]) -> bool:
    rng = random.Random(0)
    for _ in range(TRIALS):
        point: dict[Any, float] = {}
        try:
            _evaluate(place, formula, point, rng)
            ends = [{ref: rng.uniform(-2.0, 2.0) for ref in speeds} for _ in range(2)]
            middle = {ref: (ends[0][ref] + ends[1][ref]) / 2 for ref in speeds}
            a, b, c = (_evaluate(place, formula, point | speed, rng) for speed in (*ends, middle))
        except (ArithmeticError, ValueError):
            continue  # outside the domain of, say, a root
        if abs(a + b - 2 * c) > LINEAR_TOLERANCE * (abs(a) + abs(b) + abs(c) + 1e-300):
            return False
    return True
