"""A ladder on a rough floor and against a rough wall."""

import numpy as np

import dalembert as da

__all__ = ["ladder"]


def ladder(angle: float, floor: float, wall: float) -> da.Model:
    """A uniform ladder of 2 m and 3 kg with this slope, and these coefficients of friction."""
    model = da.Model("ladder", gravity=(0, 0, -9.81))
    x, z = np.cos(angle), np.sin(angle)
    rod = model.rod("rod", (2 * x, 0, 0), (0, 0, 2 * z), mass=3.0)
    model.planar("plane", model.ground, rod, point=(x, 0, z), axis="y")
    ends = (("floor", "z", (2 * x, 0, 0), floor, "x"), ("wall", "x", (0, 0, 2 * z), wall, "z"))
    for name, axis, at, coefficient, along in ends:
        surfaces = ({"kind": "plane", "axis": axis}, {"kind": "point", "at": at})
        model.rigid_contact(name, model.ground, rod, surfaces=surfaces)
        model.contact_friction(f"rub {name}", name, coefficient=coefficient, along=along)
    return model
