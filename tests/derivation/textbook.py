"""Systems of every textbook, with the letters of a textbook."""

from __future__ import annotations

import sympy as sp

import dalembert as da

__all__ = [
    "atwood", "cart_pendulum", "double_pendulum", "double_pendulum_absolute", "kepler", "pendulum", "rolling_disc",
    "spherical_by_angles", "spherical_by_height", "spherical_by_positions", "spring_pendulum", "top",
]  # fmt: skip


def pendulum() -> da.Model:
    model = da.Model("pendulum", gravity=(0, -9.81, 0))
    m, l = model.parameters(m=1.3, l=0.7)
    bob = model.body("bob", mass=m, com=(0, -l, 0))
    model.revolute("theta", model.ground, bob, point=(0, 0, 0), axis="z")
    return model


def double_pendulum() -> da.Model:
    """The second angle against the first bar."""
    model = da.Model("double pendulum", gravity=(0, -9.81, 0))
    m1, m2, l1, l2 = model.parameters(m_1=1.3, m_2=0.4, l_1=0.7, l_2=0.9)
    upper = model.body("upper", mass=m1, com=(0, -l1, 0))
    lower = model.body("lower", mass=m2, com=(0, -l1 - l2, 0))
    model.revolute("theta_1", model.ground, upper, point=(0, 0, 0), axis="z")
    model.revolute("theta_2", upper, lower, point=(0, -l1, 0), axis="z")
    return model


def double_pendulum_absolute() -> da.System:
    """Both angles from the vertical."""
    system = da.System("double pendulum, absolute", gravity=(0, -9.81, 0))
    m1, m2, l1, l2 = system.parameters(m_1=1.3, m_2=0.4, l_1=0.7, l_2=0.9)
    a, b = system.coordinate("theta_1").q, system.coordinate("theta_2").q
    x, y = l1 * sp.sin(a), -l1 * sp.cos(a)
    system.particle("upper", m1, (x, y, 0))
    system.particle("lower", m2, (x + l2 * sp.sin(b), y - l2 * sp.cos(b), 0))
    return system


def cart_pendulum(*, friction: bool = False) -> da.Model:
    model = da.Model("cart with pendulum", gravity=(0, -9.81, 0))
    M, m, l = model.parameters(M=2.0, m=0.4, l=0.9)
    cart = model.body("cart", mass=M, com=(0, 0, 0))
    bob = model.body("bob", mass=m, com=(0, -l, 0))
    model.prismatic("x", model.ground, cart, point=(0, 0, 0), axis="x")
    model.revolute("theta", cart, bob, point=(0, 0, 0), axis="z")
    if friction:
        model.parameters(c=0.3, F=2.0)
        model.joint_force("push", "x", "F - c*u(x)")
    return model


def top() -> da.Model:
    """A and C are moments of inertia about the center of mass, at a distance l from the tip."""
    model = da.Model("top")
    m, l, A, C = model.parameters(m=0.5, l=0.15, A=0.002, C=0.003)
    body = model.body("top", mass=m, com=(0, 0, l), inertia=(A, A, C))
    model.spherical("tip", model.ground, body, point=(0, 0, 0))
    return model


def rolling_disc() -> da.Model:
    model = da.Model("rolling disc")
    m, r = model.parameters(m=1.0, r=0.3)
    disc = model.body("disc", mass=m, com=(0, 0, r), inertia=(m * r**2 / 4, m * r**2 / 2, m * r**2 / 4))
    model.rolling_disc("contact", model.ground, disc, point=(0, 0, r), axis="z", axis_2="y", radius=r)
    return model


def spherical_by_angles() -> da.Model:
    """θ from the downward vertical, φ about it."""
    model = da.Model("spherical pendulum, angles")
    m, r = model.parameters(m=1.3, r=0.7)
    arm = model.body("arm", mass=0)
    bob = model.body("bob", mass=m, com=(0, 0, -r))
    model.revolute("phi", model.ground, arm, point=(0, 0, 0), axis="z")
    model.revolute("theta", arm, bob, point=(0, 0, 0), axis="y")
    return model


def spherical_by_height() -> da.Model:
    """x and y; the height follows."""
    model = da.Model("spherical pendulum, height")
    m, _ = model.parameters(m=1.3, r=0.7)
    bob = model.body("bob", mass=m, com=(0, 0, 0))
    model.custom(
        "bowl", model.ground, bob, point=(0, 0, 0), coordinates=2, position=("q0", "q1", "-sqrt(r**2 - q0**2 - q1**2)")
    )
    return model


def spherical_by_positions() -> da.Model:
    """x, y and z, with a constraint."""
    model = da.Model("spherical pendulum, positions")
    m, r = model.parameters(m=1.3, r=0.7)
    bob = model.body("bob", mass=m, com=(0, 0, -r))
    model.translational("at", model.ground, bob, point=(0, 0, 0))
    model.constraint("sphere", "(q(at, 0)**2 + q(at, 1)**2 + (q(at, 2) - r)**2 - r**2)/2")
    return model


def spring_pendulum() -> da.Model:
    model = da.Model("spring pendulum")
    m, k, l, g = model.parameters(m=1.3, k=50.0, l=0.7, g=9.81)
    model.gravity = (0, 0, -g)
    arm = model.body("arm", mass=0)
    bob = model.body("bob", mass=m, com=(0, 0, -l))
    model.revolute("theta", model.ground, arm, point=(0, 0, 0), axis="y")
    model.prismatic("s", arm, bob, point=(0, 0, -l), axis="-z")
    model.torsional_spring("coil", "s", stiffness=k)
    return model


def atwood() -> da.Model:
    """Two weights on a cord over a wheel."""
    model = da.Model("Atwood")
    m1, m2, J, r, g = model.parameters(m_1=1.3, m_2=0.4, J=0.1, r=0.1, g=9.81)
    model.gravity = (0, 0, -g)
    wheel = model.body("wheel", mass=0, inertia=(0, J, 0))
    theta = model.revolute("theta", model.ground, wheel, point=(0, 0, 0), axis="y")
    for name, mass, side in (("x", m1, 1), ("y", m2, -1)):
        at = (0.1 * side, 0, -1)
        model.particle(f"weight {name}", mass, at)
        height = model.prismatic(name, model.ground, f"weight {name}", point=at, axis="z")
        model.constraint(f"cord {name}", height.q - side * r * theta.q)
    return model


def kepler() -> da.System:
    system = da.System("Kepler", gravity=(0, 0, 0))
    m, mu = system.parameters(m=1.3, mu=0.7)
    r = system.coordinate("r", "length", reference=1)
    phi = system.coordinate("phi")
    system.particle("planet", m, (r.q * sp.cos(phi.q), r.q * sp.sin(phi.q), 0))
    system.potential("V", -mu * m / r.q)
    return system
