"""A system whose motion is prescribed: given functions as invariants, constraint forces and friction as unknowns.

Prescribed motion is a rheonomic invariant, g − s = 0 with an input s. Fictitious variables of relaxed invariants stand
still. In forces, sizes of unknown forces, √(Y² + Z²) or |Y|, and signs of velocities become inputs of their own: what
is left is linear in the unknowns (Coulomb friction, thesis 4.4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from dalembert.errors import ModelError, Problem
from dalembert.expressions import replaced
from dalembert.modular.description import Description, Invariant
from dalembert.modular.labels import Label
from dalembert.modular.variables import local

__all__ = ["Named", "Prescribed", "label_key", "prescribed", "raised"]

MOTION, HOLD = "prescribed_{}", "hold_{}"


@dataclass(frozen=True)
class Named:
    """A part of a formula with a name of its own: an input of a subsystem in its place.

    Attributes:
        path: of the subsystem.  name: of the input there.
        value: under the root (of a size), or inside of the sign; in symbols of the subsystem.
    """

    path: tuple[str, ...]
    name: str
    value: sp.Expr

    @property
    def text(self) -> str:
        return ".".join((*self.path, self.name))


@dataclass(frozen=True)
class Prescribed:
    """A description with its motion prescribed.

    Attributes:
        motion: names of the inputs that are the prescribed values.
        added: labels (path, name) of invariants that are no constraints of the system.
        sizes, signs: parts of forces that became inputs.
    """

    description: Description
    motion: tuple[str, ...]
    added: frozenset[tuple[tuple[str, ...], str]]
    sizes: tuple[Named, ...]
    signs: tuple[Named, ...]


def prescribed(description: Description, targets: Sequence[sp.Expr], unknown: frozenset[str]) -> Prescribed:
    """The system with prescribed expressions.

    Args:
        targets: what is prescribed, in symbols of the system.
        unknown: names of unknown inputs, seen from the system.
    """
    sizes: list[Named] = []
    signs: list[Named] = []
    added: set[tuple[tuple[str, ...], str]] = set()
    root = _rewritten(description, (), unknown, (sizes, signs, added))
    names = tuple(_fresh(root, MOTION.format(k + 1)) for k in range(len(targets)))
    more = [Invariant(name, target - local(name)) for name, target in zip(names, targets, strict=True)]
    added |= {((), invariant.name) for invariant in more}
    root = replace(root, invariants=(*root.invariants, *more), inputs=(*root.inputs, *names), memo={})
    return Prescribed(root, names, frozenset(added), tuple(sizes), tuple(signs))


def _rewritten(d: Description, path: tuple[str, ...], unknown: frozenset[str], found: Any) -> Description:
    """Forces in named parts, fictitious variables held; the same for all parts."""
    sizes, signs, added = found
    parts = tuple(replace(p, description=_rewritten(p.description, (*path, p.name), unknown, found)) for p in d.parts)
    names: list[str] = []

    def name(kind: str, store: list[Named], value: Any) -> sp.Symbol:
        known = next((one for one in store if one.path == path and one.value == value), None)
        if known is None:
            known = Named(path, _fresh(d, f"{kind}_{len(store) + 1}"), value)
            store.append(known)
            names.append(known.name)
        return local(known.name)

    def is_unknown(expression: Any) -> bool:
        return any(".".join((*path, s.name)) in unknown for s in expression.free_symbols)

    forces: list[tuple[str, sp.Expr]] = []
    for variable, expression in d.forces:
        swap: dict[Any, Any] = {}
        for atom in expression.atoms(sp.Pow, sp.Abs):
            if not is_unknown(atom):
                continue
            if isinstance(atom, sp.Abs):
                swap[atom] = name("size", sizes, atom.args[0] ** 2)
            elif atom.exp == sp.S.Half:
                swap[atom] = name("size", sizes, atom.base)
        for atom in expression.atoms(sp.sign):
            if is_unknown(atom):
                raise ModelError(Problem(f"a force on {variable!r} has the sign of an unknown force: {atom}"))
            swap[atom] = name("sign", signs, atom.args[0])
        forces.append((variable, replaced(expression, swap)))
    held = [Invariant(_fresh(d, HOLD.format(w)), local(w)) for w, _ in d.relaxed]
    added |= {(path, invariant.name) for invariant in held}
    changes: dict[str, Any] = {
        "forces": tuple(forces), "parts": parts, "inputs": (*d.inputs, *names), "independent": (), "relaxed": (),
        "invariants": (*d.invariants, *held), "memo": {},
    }  # fmt: skip
    return replace(d, **changes)


def _fresh(d: Description, name: str) -> str:
    while d.locate(name) is not None:
        name += "_"
    return name


def raised(d: Description, names: Mapping[tuple[str, ...], set[str]], path: tuple[str, ...] = ()) -> Description:
    """The same with some variables counted one order higher: those that follow from forces, not from kinematics.

    Args:
        names: of the variables, by the path of their subsystem.
    """
    mine = names.get(path, set())
    families = tuple(replace(one, order=one.order + 1) if one.name in mine else one for one in d.families)
    parts = tuple(replace(p, description=raised(p.description, names, (*path, p.name))) for p in d.parts)
    return replace(d, families=families, parts=parts, memo={})


def label_key(label: Label) -> tuple[tuple[str, ...], str]:
    """What tells an invariant from others, at whatever order."""
    return label.path, label.name
