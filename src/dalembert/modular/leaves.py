"""Ready-made leaves: ``da.leaves.rigid_body("B")`` and the like are subsystems to include."""

from __future__ import annotations

from typing import Any

from dalembert.modular.subsystem import Subsystem

__all__ = ["dc_motor", "particle"]


def dc_motor(name: str = "motor", **values: float) -> Subsystem:
    """A direct-current motor: speed ``omega`` of the rotor, current ``i``, input ``voltage``.

        τ = k i − I ω̇ − b ω,        0 = u − λ di/dt − ρ i − κ ω

    Args:
        values: of ``torque_constant`` k, ``inertia`` I, ``damping`` b, ``inductance`` λ, ``resistance`` ρ, ``emf_constant`` κ.
    """
    motor = Subsystem(name)
    known: dict[str, float | None] = {
        "torque_constant": 0.1, "inertia": 1e-4, "damping": 1e-4, "inductance": 1e-3, "resistance": 1.0, "emf_constant": 0.1,
    }  # fmt: skip
    k, inertia, damping, inductance, resistance, emf = motor.parameters(**_given(name, known, values))
    omega, current = motor.quasi_velocity("omega i")
    voltage = motor.input("voltage")
    motor.effective_forces(
        {
            omega: k * current - inertia * omega.d - damping * omega,
            current: voltage - inductance * current.d - resistance * current - emf * omega,
        }
    )
    return motor


def particle(name: str, gravity: Any = None, *, axes: str = "xyz", mass: float = 1.0, g: float = 9.80665) -> Subsystem:
    """A mass point with coordinates ``x y z`` (or fewer: ``axes="xy"``).

    Args:
        gravity: ``"-z"`` and the like, or None.
    """
    point = Subsystem(name)
    m = point.parameters(m=mass)
    found = [point.coordinates(axis) for axis in axes]
    forces = {x: -m * x.dd for x in found}
    point.effective_forces(forces)
    if gravity is not None:
        size = point.parameters(g=g)
        sign, axis = (-1, gravity[1:]) if gravity[0] == "-" else (1, gravity.lstrip("+"))
        point.effective_forces({axis: sign * m * size})
    return point


def _given(name: str, known: dict[str, float | None], values: dict[str, float]) -> dict[str, float | None]:
    from dalembert.errors import ModelError, Problem

    unknown = set(values) - set(known)
    if unknown:
        said = ", ".join(sorted(unknown))
        raise ModelError(Problem(f"leaf {name!r}: unknown parameters {said}; it has {', '.join(known)}"))
    return {**known, **values}
