"""A desk lamp on two parallelograms, balanced by springs.

                R2 ═══════════════ S2
        elbow  [ ║                  ║ ]  head, with the shade
                Q1 ═══════════════ S1
               //        upper arm
              //
             //  lower arm
     P2 ─ P1                     each arm is a bar and a thinner rod beside it: brackets and head never turn

A spring reaches from a point the distance a above an arm's pivot to a point the distance b along the arm. At the angle
θ from the vertical it is l² = a² + b² − 2 a b cos θ long, and the arm is balanced where

    k a b (1 − l₀/l) = W,        that is  l = l₀ / (1 − W/(k a b)),

with W the moment of the weight that the arm carries when level. A spring of free length l₀ = 0 with k a b = W would
balance it everywhere. With l₀ > 0 there is one such angle, and it is stable: a sinking arm stretches the spring.
"""

from __future__ import annotations

import sympy as sp

from dalembert.library import parts
from dalembert.model import Model

__all__ = ["desk_lamp"]


def desk_lamp(
    *,
    lower: float = 0.40,
    upper: float = 0.40,
    head_mass: float = 0.5,
    stiffness_1: float = 1150.0,
    stiffness_2: float = 836.0,
    free_length: float = 0.04,
    damping: float = 0.05,
) -> Model:
    """A lamp that is released and comes to rest where its springs balance it.

    Args:
        lower, upper: lengths of the arms (m).
        head_mass: of the shade with its bulb (kg).
        stiffness_1, stiffness_2: of the springs of the lower and of the upper arm (N/m).
        free_length: of the lower spring (m); the upper one's is half as much again.
        damping: in the hinges of the two arms (N m s/rad).
    """
    model = Model("desk lamp", gravity=(0, -9.81, 0), description="lamp on two parallelograms, balanced by springs")
    l1, l2, head = model.parameters(lower=lower, upper=upper, head_mass=head_mass)
    k1, k2, free, c = model.parameters(
        stiffness_1=stiffness_1, stiffness_2=stiffness_2, free_length=free_length, damping=damping
    )
    a1, b1, a2, b2, w = 0.06, 0.12, 0.05, 0.12, 0.05
    # Drawn with the lower arm 30° to the left of the vertical and the upper one 75° to its right.
    s1, c1, s2, c2 = -sp.Rational(1, 2), sp.sqrt(3) / 2, (sp.sqrt(6) + sp.sqrt(2)) / 4, (sp.sqrt(6) - sp.sqrt(2)) / 4
    P1, P2 = (0, 0, 0), (-w, 0, 0)
    Q1, Q2 = (l1 * s1, l1 * c1, 0), (l1 * s1 - w, l1 * c1, 0)
    R2 = (Q1[0], Q1[1] + w, 0)
    S1, S2 = (Q1[0] + l2 * s2, Q1[1] + l2 * c2, 0), (R2[0] + l2 * s2, R2[1] + l2 * c2, 0)

    model.body("lower arm", **parts.bar(0.15, P1, Q1, width=0.022))
    model.body("lower rod", **parts.bar(0.10, P2, Q2, width=0.012, level=2))
    model.body("elbow", **parts.bar(0.10, Q2, R2, width=0.03, level=1))
    model.body("upper arm", **parts.bar(0.15, Q1, S1, width=0.022, level=2))
    model.body("upper rod", **parts.bar(0.10, R2, S2, width=0.012, level=2))
    shade = {
        "kind": "cone",
        "radius": 0.09,
        "length": 0.12,
        "axis": "y",
        "pose": {"position": (S1[0], S1[1] - 0.09, 0)},
    }
    post = {
        "kind": "capsule",
        "radius": 0.012,
        "length": w,
        "axis": "y",
        "pose": {"position": (S1[0], S1[1] + w / 2, 0)},
    }
    J = head * 0.05**2
    model.body("head", mass=head, com=S1, inertia=(J, J, J), shapes=(shade, post), color="#de8f05")

    model.revolute("shoulder", model.ground, "lower arm", point=P1, axis="z")
    model.revolute("shoulder rod", model.ground, "lower rod", point=P2, axis="z")
    model.revolute("elbow low", "lower arm", "elbow", point=Q1, axis="z")
    model.revolute("elbow low rod", "lower rod", "elbow", point=Q2, axis="z")
    model.revolute("elbow high", "elbow", "upper arm", point=Q1, axis="z")
    model.revolute("elbow high rod", "elbow", "upper rod", point=R2, axis="z")
    model.revolute("neck", "upper arm", "head", point=S1, axis="z")
    model.revolute("neck rod", "upper rod", "head", point=S2, axis="z")

    first, second = ((0, a1, 0), (b1 * s1, b1 * c1, 0)), (Q1[0] + b2 * s2, Q1[1] + b2 * c2, 0)
    model.spring("lower spring", model.ground, "lower arm", at=first, stiffness=k1, length=free)
    high = (Q1[0], Q1[1] + a2, 0)
    model.spring("upper spring", "elbow", "upper arm", at=(high, second), stiffness=k2, length=1.5 * free)
    model.torsional_spring("friction 1", "shoulder", damping=c)
    model.torsional_spring("friction 2", "elbow high", damping=c)

    model.shape(model.ground, "cylinder", radius=0.09, length=0.02, axis="y", pose=(-w / 2, -0.05, 0))
    model.shape(model.ground, "box", size=(0.08, 0.05, 0.02), pose=(-w / 2, -0.02, -0.02))
    model.shape(model.ground, "cylinder", radius=0.006, length=a1, axis="y", pose=(0, a1 / 2, 0))
    model.initial("shoulder", 0.3)
    model.initial("elbow high", -0.4)
    model.output("height of the lamp", "y(head)", unit="m")
    model.output("reach of the lamp", "x(head)", unit="m")
    return model
