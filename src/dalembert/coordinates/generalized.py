"""Generalized coordinates: plain numbers q whose rates are the velocities, u = q̇.

The tree of joints is that of relative coordinates. Where a joint's velocities are no rates, as the angular velocity of
a ball, the tree describes it in another way (see ``joints.rated``): by three angles, or by a quaternion and its rates.
All that formulas ask of such a joint, q(joint) and u(joint), stays what it is in all other coordinates.

Reference: docs/theory/generalized-coordinates.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import sympy as sp
from pydantic import ValidationError

from dalembert.algebra import Algebra
from dalembert.arguments import public_class
from dalembert.constraints import Equation
from dalembert.coordinates.base import Slot
from dalembert.coordinates.generalized_kinematics import GeneralizedKinematics, is_free, rated
from dalembert.coordinates.generalized_maps import Elimination, MappedKinematics, find_elimination
from dalembert.coordinates.generalized_velocities import check_velocities
from dalembert.coordinates.relative import Relative
from dalembert.errors import DalembertError, ExpressionError, ModelError, Problem
from dalembert.expressions import parse
from dalembert.joints import Joint
from dalembert.joints.product import Ball, Product, Translation
from dalembert.joints.rated import ROTATIONS, Rated
from dalembert.joints.reversed import Reversed
from dalembert.model import Flat
from dalembert.spatial import euler

__all__ = ["Generalized", "GeneralizedCoordinates", "Symbol", "Turn"]


# What the numbers of a ball are, where they are no angles.
KINDS = {"quaternions": "quaternion", "cayley": "number"}


@public_class
@dataclass(frozen=True)
class Generalized:
    """Generalized coordinates with options; given wherever the name of coordinates can be.

    Attributes:
        rotations: how balls and free bodies turn: three ``angles``; ``quaternions`` of four numbers with |Q|² = 1;
            rotation ``vectors`` (canonical coordinates of the first kind), singular after a whole turn; ``cayley``
            parameters, infinite after half a turn.
        sequence: axes of the angles, each about the moved axis: ``zyx`` (ψ about z, θ about y, φ about x), ``zxz``, …
        velocities: quasi-velocities by name, formulas linear in the rates, e.g. ``{"omega": "u(A) - u(B)"}``; without
            them those of the model (``Model.velocities``), else the natural ones: rates of joints, angular velocities
            of what turns freely.

    Example:
        run = da.simulate(da.library.spinning_top(), 1.0, coordinates=da.Generalized(sequence="zxz"))
    """

    rotations: Literal["angles", "quaternions", "vectors", "cayley"] = "angles"
    sequence: str = "zyx"
    velocities: Mapping[str, Any] | tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        if self.rotations not in ROTATIONS:
            known = ", ".join(map(repr, ROTATIONS))
            raise DalembertError(f"rotations must be one of {known}, got {self.rotations!r}")
        if self.sequence not in euler.SEQUENCES:
            known = ", ".join(euler.SEQUENCES)
            raise DalembertError(f"unknown sequence of axes {self.sequence!r}; expected one of {known}")
        formulas = tuple((name, _formula(name, value)) for name, value in dict(self.velocities).items())
        object.__setattr__(self, "velocities", formulas)

    @property
    def name(self) -> str:
        """The kind of coordinates."""
        return GeneralizedCoordinates.name

    @property
    def axes(self) -> tuple[int, int, int]:
        """Axes of the three angles."""
        return euler.axes_of(self.sequence)

    def __str__(self) -> str:
        return f"generalized ({self.sequence if self.rotations == 'angles' else self.rotations})"


def _formula(name: str, value: Any) -> sp.Expr:
    try:
        given = parse(value) if isinstance(value, str) else value  # without tables, which only a model has
        return Equation.model_validate({"name": name, "formula": given, "level": "velocity"}).formula
    except (ExpressionError, ValidationError) as error:
        parts = error.errors() if isinstance(error, ValidationError) else [{"msg": str(error)}]
        said = "; ".join(str(part["msg"]).removeprefix("Value error, ") for part in parts)
        raise ModelError(Problem(f"velocity {name!r}: {said}", f"velocities.{name}")) from None


@dataclass(frozen=True)
class Symbol:
    """What one entry of q is.

    Attributes:
        joint: whose coordinate it is.
        part: which of them: empty if it is the only one, else x, y, z, psi, theta, phi, e0 … e3, rx, cx, angle, …
        kind: ``angle``, ``length``, ``quaternion`` or ``number``, or ``turns`` of a closed joint's angle.
        name: short and unique.
    """

    joint: str
    part: str
    kind: str
    name: str


@dataclass(frozen=True)
class Turn:
    """Numbers that describe a ball: of which joint, where they are in q, and how they turn."""

    joint: str
    at: slice
    described: Rated

    def steepness(self, q: np.ndarray) -> np.ndarray:
        """How far from singular some states are: cos or sin of the middle angle; 1 for quaternions."""
        return self.described.steepness(q[..., self.at])


class GeneralizedCoordinates(Relative):
    """Plain numbers whose rates are the velocities: those of joints, positions, and angles or quaternions of balls."""

    name = "generalized"

    def __init__(self, flat: Flat, options: Generalized | None = None, *, eliminate: bool = True):
        self.options = options or Generalized()
        self.elimination: Elimination | None = None
        self._full = GeneralizedCoordinates(flat, self.options, eliminate=False) if eliminate else self
        if eliminate:
            self.elimination = find_elimination(self._full)
        super().__init__(flat)
        self.velocities = dict(self.options.velocities) or dict(flat.quasi_velocities)
        self.slot_of_joint = {name: s for name, s in self.slot_of_joint.items() if rated(self.joint_at(s)) is None}
        if eliminate:
            check_velocities(self)

    def _layout(self) -> tuple[list[Slot], tuple[str, ...]]:
        if self._full is not self:
            return self._left_slots(), self._full.cut
        slots, cut = super()._layout()
        joints = [(slot, self.joint_at(slot)) for slot in slots]
        return self._slots([(s.body, s.parent, s.joint, s.reversed, j.nq, j.nv) for s, j in joints]), cut

    def _left_slots(self) -> list[Slot]:
        """Those of joints all of whose numbers stay."""
        place = {old: new for new, old in enumerate(self._kept)}
        found: list[Slot] = []
        for slot in self._full.slots:
            mine = range(slot.q.start, slot.q.stop)
            if all(i in place for i in mine):
                begin = place[mine[0]] if mine else 0
                at = slice(begin, begin + len(mine))
                found.append(replace(slot, q=at, u=at))
        return found

    def _sizes(self) -> tuple[int, int]:
        return (len(self._kept), len(self._kept)) if self._full is not self else super()._sizes()

    @property
    def _kept(self) -> Sequence[int]:
        """Which numbers of the tree are those of q."""
        return range(self._full.nv) if self.elimination is None else self.elimination.kept

    @property
    def eliminated(self) -> frozenset[str]:
        return frozenset() if self.elimination is None else self.elimination.owners

    @property
    def rheonomic(self) -> bool:
        return self.elimination is not None and self.elimination.rheonomic

    @property
    def bodies(self) -> list[str]:
        return [slot.body for slot in self._full.slots]

    @property
    def is_constrained(self) -> bool:
        return super().is_constrained or (self.options.rotations == "quaternions" and bool(self.turns))

    def described(self, joint: Joint) -> Joint:
        """A joint of the model by numbers whose rates are its velocities."""
        return joint if joint.nq == joint.nv else Rated(joint, self.options.rotations, self.options.axes)

    def joint_at(self, slot: Slot) -> Joint:
        assert slot.joint is not None
        joint = self.described(self.nominal_joint(slot.joint).joint)
        return Reversed(joint) if slot.reversed and not is_free(joint) else joint

    def _place(self, al: Algebra, parameters: dict[str, Any]) -> GeneralizedKinematics | MappedKinematics:
        if self.elimination is None:
            return GeneralizedKinematics(self, self._mechanism(al, parameters))
        inner = GeneralizedKinematics(self._full, self._mechanism(al, parameters), self.slot_of_joint)
        return MappedKinematics(self, inner, self.elimination)

    # What the entries of q are

    @cached_property
    def turns(self) -> list[Turn]:
        """Where q describes balls."""
        found: list[Turn] = []
        place = {old: new for new, old in enumerate(self._kept)}
        for slot in self._full.slots:
            how = rated(self.joint_at(slot))
            if how is not None:
                begin = place[slot.q.start + how.balls[0].start] - how.balls[0].start
                found += [Turn(slot.joint or "", slice(begin + at.start, begin + at.stop), how) for at in how.balls]
        return found

    @cached_property
    def symbols(self) -> list[Symbol]:
        """What each entry of q is."""
        parts = [(slot.joint or "", *part) for slot in self._full.slots for part in _parts(self.joint_at(slot))]
        parts = [parts[i] for i in self._kept]
        parts += [("", name, "state") for name in self.own_states]
        parts += [(w.joint, f"turns_{w.index}", "turns") for w in self.windings]
        count = Counter(part or joint for joint, part, _ in parts)
        names = [(part or joint) if count[part or joint] == 1 else f"{part}_{joint}" for joint, part, _ in parts]
        return [Symbol(*part, name) for part, name in zip(parts, names, strict=True)]

    def labels(self) -> tuple[list[str], list[str]]:
        names = [f"{s.joint}.{s.part}" if s.part else s.joint for s in self.symbols[: self.nv]]
        return names + self.tail_labels(), names


def _parts(joint: Joint) -> list[tuple[str, str]]:
    """Part and kind of each coordinate of a joint."""
    joint = joint.joint if isinstance(joint, Reversed) else joint
    if not isinstance(joint, Product):
        return [(f"q{i}" if joint.nq > 1 else "", "number") for i in range(joint.nq)]
    rotations = joint.rotations if isinstance(joint, Rated) else "angles"
    numbers, kind = ROTATIONS[rotations].split(), KINDS.get(rotations, "angle")
    own = [factor for factor in _own(joint) if factor.nq]
    turning = [f for f in own if not isinstance(f, (Ball, Translation))]
    letters = iter({1: ["angle"], 2: ["alpha", "beta"], 3: ["psi", "theta", "phi"]}.get(len(turning), []))
    found: list[tuple[str, str]] = []
    for factor in own:
        if isinstance(factor, Ball):
            found += [(name, kind) for name in numbers]
        elif isinstance(factor, Translation):
            found.append(("xyz"[factor.axis], "length"))
        else:
            found.append((next(letters), "angle"))
    return found if len(found) > 1 else [("", found[0][1])] if found else []


def _own(joint: Product) -> list[Any]:
    """The factors of a joint as the model knows them."""
    return [factor for factor, _, _, _ in joint.parts] if isinstance(joint, Rated) else list(joint.factors)
