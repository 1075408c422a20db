"""Andrews' squeezer mechanism: seven bodies, three loops that meet in one point, a fast crank.

                C
                 \\ spring
          B       D
           \\____/      K3: the triangle B D E
             \\ │
     G ─── K4 ─ E ─ K2 ─ F
     │         /         │ K1, the crank
     K5      K6          O
     A ─ K7 ─ H

A constant torque drives the crank OF. All numbers are those of the Test Set for IVP Solvers (Bari, CWI); the angles
are counted as there. References: T. Andrews, M. Ormrod, "Advent", 1986; W. Schiehlen (ed.), "Multibody Systems
Handbook", 1990; E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II", VII.7.
"""

from __future__ import annotations

from math import cos, sin

from dalembert.library import parts
from dalembert.model import Model

__all__ = ["andrews"]

# Angles at which the mechanism can be assembled, with θ = 0 (rad): β, γ, φ, δ, Ω, ε.
START = (
    -0.06171389001427645, 0.45527981916307037, 0.22266839016588588, 0.48736497954384256, -0.22266839016588588,
    1.2305474445498212,
)  # fmt: skip
WIDTH = 0.003


def andrews(*, torque: float = 0.033) -> Model:
    """Andrews' squeezer, from rest.

    Args:
        torque: that drives the crank (N m).
    """
    model = Model("andrews", gravity=(0, 0, 0), description="Andrews' squeezer mechanism: seven bodies, three loops")
    drive = model.parameters(torque=torque)
    beta, gamma, phi, delta, omega, epsilon = START

    def from_point(point: tuple[float, ...], angle: float, x: float, y: float) -> tuple[float, float, float]:
        """The point at (x, y) in axes that are turned by the angle."""
        c, s = cos(angle), sin(angle)
        return point[0] + c * x - s * y, point[1] + s * x + c * y, 0.0

    O, A, B, C = (0.0, 0.0, 0.0), (-0.06934, -0.00227, 0.0), (-0.03635, 0.03273, 0.0), (0.014, 0.072, 0.0)
    F = from_point(O, beta, 0.007, 0)
    E = from_point(F, beta, -0.028, 0)
    D = from_point(B, gamma, 0.02, -0.018)
    G = from_point(A, delta, 0.04, 0)
    H = from_point(A, epsilon, 0, -0.04)
    # name: mass, inertia about z, center of mass, ends of the drawing, layer
    bodies = {
        "K1": (0.04325, 2.194e-6, from_point(O, beta, 0.00092, 0), (O, F), 0),
        "K2": (0.00365, 4.410e-7, from_point(F, beta, -0.0115, 0), (F, E), 1),
        "K3": (0.02373, 5.255e-6, from_point(B, gamma, 0.01043, -0.01874), (B, E), 0),
        "K4": (0.00706, 5.667e-7, from_point(G, phi + delta, 0, -0.02 + 0.01421), (G, E), 2),
        "K5": (0.07050, 1.169e-5, from_point(A, delta, 0.02308, 0.00916), (A, G), 0),
        "K6": (0.00706, 5.667e-7, from_point(H, omega + epsilon, 0.02 - 0.01421, 0), (H, E), 3),
        "K7": (0.05498, 1.912e-5, from_point(A, epsilon, -0.00449, -0.01228), (A, H), 1),
    }
    for name, (mass, inertia, center, ends, level) in bodies.items():
        shapes = parts.bar(mass, *ends, width=WIDTH, level=level)["shapes"]
        if name == "K3":
            shapes += parts.bar(mass, B, D, width=WIDTH)["shapes"] + parts.bar(mass, D, E, width=WIDTH)["shapes"]
        # The motion is plane: moments about x and y matter to nothing.
        model.body(name, mass=mass, com=center, inertia=(inertia, inertia, inertia), shapes=shapes)
    joints = {
        "O": ("ground", "K1", O, beta),
        "F": ("K1", "K2", F, 0.0),
        "B": ("ground", "K3", B, gamma),
        "A5": ("ground", "K5", A, delta),
        "G": ("K5", "K4", G, phi),
        "A7": ("ground", "K7", A, epsilon),
        "H": ("K7", "K6", H, omega),
        "E3": ("K2", "K3", E, 0.0),
        "E4": ("K2", "K4", E, 0.0),
        "E6": ("K2", "K6", E, 0.0),
    }
    for name, (first, second, point, angle) in joints.items():
        model.revolute(name, first, second, point=point, axis="z", reference=angle)
    model.joint_force("motor", "O", drive)
    model.spring("spring", "ground", "K3", stiffness=4530, length=0.07785, at=(C, D))
    model.shape("ground", "sphere", radius=0.6 * WIDTH, pose=C)
    model.output("crank", "q(O)", unit="rad")
    return model
