"""A motion that a step may jump over."""

import dalembert as da

__all__ = ["magnet"]


def magnet() -> da.Model:
    """A charge that a narrow field turns round; no work is done, so energy tells nothing."""
    model = da.Model("magnet", gravity=(0, 0, 0))
    model.parameters(w=0.001)
    body = model.body("b", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.translational("P", "ground", body)
    model.initial("P", (0, 0, 0), rate=(1, 0, 0))
    field = "100*exp(-(x(b)-5)**2/w)"
    model.force("L", body, (f"{field}*vy(b)", f"-{field}*vx(b)", 0))
    return model
