"""Whether velocity constraints are rates of position constraints: the object of nonholonomy and Frobenius' test.

    ω = a(t, q) dq + b(t, q) dt,      Ω = N ᵀ (∂(a, b)/∂(q, t) − its transpose) N

N spans the directions (dq, dt) that all constraints allow. The constraints can be integrated if Ω vanishes for every
one of them, at every position (Frobenius); otherwise small detours lead to positions beside any surface.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.arguments import public
from dalembert.coordinates import Generalized, GeneralizedCoordinates
from dalembert.equations.sampled import Sampled
from dalembert.errors import unknown
from dalembert.model import Model, flatten, model_of

__all__ = ["Integrability", "integrable"]

VANISHES = 1e-8  # of Ω, rows being of length one
RANK = 1e-9
TIMES = (0.0, 0.37, 1.21)


@dataclass(frozen=True)
class Integrability:
    """What ``da.integrable`` found; true if the constraint is holonomic.

    Attributes:
        constraint: its name.
        holonomic: whether it is the rate of a position constraint, together with those that it was looked at with.
        object_of_nonholonomy: Ω of each of its rows at the position where it is largest, in an orthonormal basis of the
            allowed directions; rows × p × p.
        directions: that basis: columns are (q̇, ṫ).
        position: (t, q) there, in generalized coordinates.
        coordinates: names of q.
        together: the other constraints whose directions were allowed only.
    """

    constraint: str
    holonomic: bool
    object_of_nonholonomy: np.ndarray
    directions: np.ndarray
    position: tuple[float, np.ndarray]
    coordinates: list[str]
    together: list[str]

    def __bool__(self) -> bool:
        return self.holonomic

    def __str__(self) -> str:
        word = "holonomic: it can be integrated" if self.holonomic else "nonholonomic: it cannot be integrated"
        size = float(np.abs(self.object_of_nonholonomy).max(initial=0.0))
        beside = f" together with {', '.join(self.together)}" if self.together else ""
        return f"{self.constraint} is {word}{beside} (largest entry of the object of nonholonomy {size:.2g})"


@public
def integrable(
    model: Model, constraint: str, *, alone: bool = False, parameters: Mapping[str, float] | None = None
) -> Integrability:
    """Is a constraint holonomic? Position constraints are; velocity constraints and rolling take Frobenius' test.

    Args:
        model: the mechanism.
        constraint: name of a constraint, drive or joint with nonholonomic equations.
        alone: look at it without the other velocity constraints; position constraints always count.
        parameters: values to use instead of the model's.

    Returns:
        true or false, with the object of nonholonomy.

    Raises:
        DalembertError: if nothing of that name imposes an equation.

    Example:
        assert not da.integrable(da.library.knife_edge(), "blade")

    Reference: A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody systems",
    Strojarstvo 51 (2009) 597-612, eq. (60).
    """
    model = model_of(model)
    model.validate()
    coordinates = GeneralizedCoordinates(flatten(model), Generalized(rotations="angles"))
    sampled = Sampled(coordinates, parameters=parameters)
    e, al = sampled.equations, CASADI
    owners = [row.owner for row in e.rows]
    if constraint not in owners:
        raise unknown("integrable: no equations are imposed by", constraint, dict.fromkeys(owners))
    used = [i for i, row in enumerate(e.rows) if row.holonomic or not alone or row.owner == constraint]
    own = [k for k, i in enumerate(used) if owners[i] == constraint]
    forms = np.concatenate([e.jacobian[used], e.velocity_bias[used].reshape(-1, 1)], axis=1)
    where = al.concatenate([e.q[: e.nv], al.vector([e.t])])
    curls = al.zeros(len(own), e.nv + 1, e.nv + 1)
    for j, k in enumerate(own):
        J = al.jacobian(forms[k], where)
        curls[j] = J - J.T
    states = _positions(sampled)
    forms_at, curls_at = (sampled.values(part, states, vary=False) for part in (forms, curls))
    ranks = [int(np.linalg.matrix_rank(A, RANK)) for A in forms_at]
    worst: tuple[float, Any] = (-1.0, None)
    for (t, q, _), A, C, rank in zip(states, forms_at, curls_at, ranks, strict=True):
        if rank < max(ranks):  # where a form vanishes, its directions are not those of any surface
            continue
        sizes = np.maximum(np.linalg.norm(A, axis=1), RANK)
        N = np.linalg.svd(A / sizes[:, None])[2][rank:].T
        found = np.array([N.T @ C[j] @ N / sizes[k] for j, k in enumerate(own)])
        size = float(np.abs(found).max(initial=0.0))
        if size > worst[0]:
            worst = size, (found, N, (t, q))
    found, N, position = worst[1]
    together = [name for name in dict.fromkeys(owners[i] for i in used) if name != constraint]
    names = coordinates.labels()[1]
    return Integrability(constraint, bool(worst[0] < VANISHES), found, N, position, names, together)


def _positions(sampled: Sampled) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """States on the position constraints; anywhere if there are none."""
    if any(row.holonomic for row in sampled.equations.rows):
        return sampled.closed(several=True)
    return [(t, q, u) for t in TIMES for _, q, u in sampled.at_rest()[:8]]
