"""The slider-crank of problems 5/1, 5/2, 5/3 and 5/5: equations in natural coordinates by hand, and the same mechanism
as a model.

The figure is lost; assumed is: the crank turns about A at the origin, the slider moves along the x-axis, gravity acts
against y. Point 1 is the crank pin, point 2 the pin of the slider; natural coordinates q = (x1, y1, x2). Bars are
uniform.
"""

import numpy as np

import dalembert as da
from dalembert.library import parts

M2, M3, M4, G = 1.0, 2.0, 1.0, 9.81  # crank, coupler, slider (kg), gravity (m/s²)


class Natural:
    """M q̈ = Q + forces of constraint,  φ(q) = 0,  in q = (x1, y1, x2)."""

    def __init__(self, l2: float = 1.0, l3: float = 2.0, gravity: float = G):
        self.l2, self.l3 = l2, l3
        # A uniform bar with ends i, j:  T = m/6 (ṙᵢ² + ṙᵢ·ṙⱼ + ṙⱼ²).  End A rests, y2 = 0.
        self.M = np.array([[(M2 + M3) / 3, 0, M3 / 6], [0, (M2 + M3) / 3, 0], [M3 / 6, 0, M3 / 3 + M4]])
        # Half of the weight of a bar acts on each of its ends.
        self.Q = np.array([0, -(M2 + M3) / 2 * gravity, 0])

    def state(self, angle: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
        """q and q̇ for an angle and an angular velocity of the crank."""
        x1, y1 = self.l2 * np.cos(angle), self.l2 * np.sin(angle)
        w = np.sqrt(self.l3**2 - y1**2)
        dx1, dy1 = -rate * y1, rate * x1
        return np.array([x1, y1, x1 + w]), np.array([dx1, dy1, dx1 - y1 * dy1 / w])

    def phi(self, q: np.ndarray) -> np.ndarray:
        x1, y1, x2 = q
        return np.array([x1**2 + y1**2 - self.l2**2, (x2 - x1) ** 2 + y1**2 - self.l3**2])

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        x1, y1, x2 = q
        return 2 * np.array([[x1, y1, 0], [x1 - x2, y1, x2 - x1]])

    def c(self, v: np.ndarray) -> np.ndarray:
        """−Φ̇ q̇, so that  Φ q̈ = c."""
        return -2 * np.array([v[0] ** 2 + v[1] ** 2, (v[2] - v[0]) ** 2 + v[1] ** 2])


def model(l2: float = 1.0, l3: float = 2.0, angle: float = 1.0, gravity: float = G) -> da.Model:
    """The same mechanism, drawn at an angle of the crank."""
    x1, y1, x2 = Natural(l2, l3).state(angle, 0.0)[0]
    built = da.Model("slider-crank", gravity=(0, -gravity, 0))
    built.body("crank", **parts.bar(M2, (0, 0, 0), (x1, y1, 0), 0.1))
    built.body("coupler", **parts.bar(M3, (x1, y1, 0), (x2, 0, 0), 0.1, 1))
    built.body("slider", mass=M4, com=(x2, 0, 0), inertia=(0.01, 0.01, 0.01))
    built.shape("slider", "box", size=(0.3, 0.2, 0.2), pose=(x2, 0, 0))
    built.revolute("A", built.ground, "crank", point=(0, 0, 0), axis="z")
    built.revolute("pin 1", "crank", "coupler", point=(x1, y1, 0), axis="z")
    built.revolute("pin 2", "coupler", "slider", point=(x2, 0, 0), axis="z")
    built.prismatic("guide", built.ground, "slider", point=(x2, 0, 0), axis="x")
    return built


def accelerations(mechanism: da.Model, rate: float, **how) -> np.ndarray:
    """(ẍ1, ÿ1, ẍ2) of the model as drawn; ``how`` names formulation and coordinates."""
    dynamics = da.compile(mechanism, **how)
    q, u = da.assemble(mechanism, initial_rates={"A": rate}).to(dynamics.coordinates)
    du = dynamics.acceleration(q, u)
    # The frame of a body stands at its center of mass: the pin of the crank is half a crank from there.
    pin = dynamics.bodies(q)["crank"].position
    found = [dynamics.point_jacobian(body, at, q, u) for body, at in (("crank", pin), ("slider", np.zeros(3)))]
    first, second = (J.jacobian @ du + J.rate @ u for J in found)
    return np.array([first[0], first[1], second[0]])
