"""System P: two rods on ball joints, the end of the second on a straight guide, and where its description is singular.

The ends of the rods are (x1, y1, z1) and (x2, y2, z2). Two lengths and the guide are four invariants: two degrees of
freedom. An angle θ between the rods may be added, with an invariant of its own. Where the rods are in line, its
gradient vanishes with sin θ: the *description* is singular there, the mechanism is not; without θ the rank stays. Rods
of equal length and the guide through the pivot: where the rods fold onto each other, the end rests at the pivot and the
*mechanism* is singular, in every description. With the guide at a distance (the variant), two stretched positions lose
the rank with θ only, and where rod 1 points straight away from the guide the mechanism is singular, too.

The smallest singular value of A along paths to such places shows how near one is.

Reference: R. M. M. Orsino, "A contribution on modeling methodologies for multibody systems" (2016), examples 2.2–2.4.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sympy import cos

import dalembert as da

OUT = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))


def system_p(theta: bool, l1: float = 1.0, l2: float = 2.0, height: float = 0.0) -> da.Subsystem:
    """Two rods; the guide is the line y = height, z = 0."""
    P = da.Subsystem("P")
    a, b, h = P.parameters(l1=l1, l2=l2, h=height)
    x1, y1, z1, x2, y2, z2 = P.coordinates("x1 y1 z1 x2 y2 z2")
    P.invariant(x1**2 + y1**2 + z1**2 - a**2, "rod1")
    P.invariant((x1 - x2) ** 2 + (y1 - y2) ** 2 + (z1 - z2) ** 2 - b**2, "rod2")
    P.invariants(y2 - h, z2)
    if theta:
        angle = P.coordinates("theta")
        P.invariant(x2**2 + y2**2 + z2**2 - a**2 - b**2 - 2 * a * b * cos(angle), "angle")
    return P


def place(p1: tuple[float, ...], p2: tuple[float, ...], theta: float | None = None) -> dict[str, float]:
    found = dict(zip(("x1", "y1", "z1", "x2", "y2", "z2"), (*p1, *p2), strict=True))
    return found if theta is None else {**found, "theta": theta}


def smallest(equations: da.modular.ModularEquations, at: dict[str, float]) -> float:
    """The smallest singular value of A: how far from a singular position."""
    return float(np.linalg.svd(equations.at(at, da.modular.Pivoted()).B.to_array().astype(float), compute_uv=False)[-1])


# The system of example 2.2: constraint order 1, two degrees of freedom, rank 5 with θ; 4 where the rods are in line.
with_angle, without = system_p(True).equations(), system_p(False).equations()
assert with_angle.constraint_order == 1 and with_angle.degrees_of_freedom == without.degrees_of_freedom == 2
assert with_angle.rank(with_angle.consistent()) == 5
for sign in (1.0, -1.0):
    for end, theta in ((3.0, 0.0), (-1.0, np.pi)):
        assert with_angle.rank(place((sign, 0, 0), (sign * end, 0, 0), theta)) == 4
        assert without.rank(place((sign, 0, 0), (sign * end, 0, 0))) == 4
print("in line: rank 4 of 5 with θ, 4 of 4 without: the description is singular, not the mechanism")

# Its variables by two of them, signs as they are (the printed text has them reversed).
P = system_p(True)
P.independent(P.z1, P.x2)
print(P.equations().S)

# Equal rods, folded: the mechanism itself.
equal = system_p(False, 1.0, 1.0).equations()
assert equal.rank(place((0, 0.6, 0.8), (0, 0, 0))) == 3
print("equal rods, folded: rank 3 of 4, whatever the description")

# The variant: the guide at y = 1.
variant, r = system_p(True, height=1.0).equations(), 2 * np.sqrt(2)
ranks = [
    variant.rank(place((-r / 3, 1 / 3, 0), (-r, 1, 0), 0.0)),
    variant.rank(place((r / 3, 1 / 3, 0), (r, 1, 0), 0.0)),
    variant.rank(place((0, -1, 0), (0, 1, 0), np.pi)),
]
assert ranks == [4, 4, 3]
print("guide at a distance: ranks", *ranks, "in its three singular positions")


def planar_path(x2: np.ndarray, l1: float, l2: float, h: float) -> list[dict[str, float]]:
    """Positions in the plane z = 0 for given ends on the guide, the knee above."""
    found = []
    for x in x2:
        d = np.hypot(x, h)
        along = (l1**2 - l2**2 + d**2) / (2 * d)
        across = np.sqrt(max(l1**2 - along**2, 0.0))
        e = np.array([x, h]) / d
        p1 = along * e + across * np.array([-e[1], e[0]])
        theta = np.arccos(np.clip((d**2 - l1**2 - l2**2) / (2 * l1 * l2), -1, 1))
        found.append(place((*p1, 0.0), (x, h, 0.0), float(theta)))
    return found


figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
ends = 3.0 - np.geomspace(1e-6, 1.9, 80)
path = planar_path(ends, 1.0, 2.0, 0.0)
bare = [{key: value for key, value in one.items() if key != "theta"} for one in path]
left.loglog(3.0 - ends, [smallest(with_angle, one) for one in path], label="with θ")
left.loglog(3.0 - ends, [smallest(without, one) for one in bare], label="without θ")
left.set(xlabel="distance of the end from the stretched position (m)", ylabel="smallest singular value of A")
left.set_title("a singularity of the description")
near = smallest(with_angle, path[0]), smallest(without, bare[0])
assert near[0] < 5e-3 < 0.1 < near[1]

offsets = np.geomspace(1e-6, 0.5, 80)
height = np.sqrt(1 - offsets**2 / 4)
folded = [place((d / 2, 0.6 * h, 0.8 * h), (d, 0.0, 0.0)) for d, h in zip(offsets, height, strict=True)]
apart = without.consistent()
right.loglog(offsets, [smallest(equal, one) for one in folded], label="equal rods")
right.axhline(smallest(without, apart), color="gray", linestyle="--", label="rods of 1 and 2 m, somewhere")
right.set(xlabel="distance of the end from the pivot (m)")
right.set_title("a singularity of the mechanism")
assert smallest(equal, folded[0]) < 1e-5
for panel in (left, right):
    panel.legend()
    panel.grid(alpha=0.3)
figure.savefig(OUT / "system-p.png", dpi=120)
