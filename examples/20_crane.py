"""A crane: what its two motors must give so that the load moves straight and stops without a swing."""

import os
from pathlib import Path

import numpy as np
import sympy as sp

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
M, m, g = 400.0, 250.0, 9.81  # trolley and load (kg), gravity (m/s²)
low, high, way, T = 6.0, 4.0, 5.0, 4.0  # rope at the start and at the end (m), way (m), duration (s)


def crane() -> da.Model:
    """A trolley on a rail, a rope that swings and is wound up, a load at its end."""
    model = da.Model("crane", gravity=(0, 0, -g))
    trolley = model.body("trolley", mass=M, com=(0, 0, 0), inertia=(40, 40, 40))
    rope = model.body("rope", mass=0, com=(0, 0, 0), inertia=(0, 0, 0))
    load = model.body("load", mass=m, com=(0, 0, -low), inertia=(0, 0, 0))
    model.shape(model.ground, "box", size=(8, 0.2, 0.2), pose=(way / 2, 0, 0.3))
    model.shape(trolley, "box", size=(0.8, 0.5, 0.3), pose=(0, 0, 0))
    model.shape(load, "box", size=(0.7, 0.7, 0.7), pose=(0, 0, -low - 0.35))
    model.prismatic("rail", model.ground, trolley, point=(0, 0, 0), axis="x")
    model.revolute("swing", trolley, rope, point=(0, 0, 0), axis="y")
    model.prismatic("hoist", rope, load, point=(0, 0, -low), axis="z")
    return model


# The load goes 5 m to the side and 2 m up, from rest to rest, so smoothly that forces begin and end at rest, too.
t = sp.Symbol("t")
s = t / T
smooth = 126 * s**5 - 420 * s**6 + 540 * s**7 - 315 * s**8 + 70 * s**9
x, z = way * smooth, -low + (low - high) * smooth
# Only the rope pulls at the load, so it must point along the acceleration and against gravity: that places the trolley.
lean = sp.diff(x, t, 2) / (g + sp.diff(z, t, 2))
place = x - z * lean
rope = sp.sqrt((place - x) ** 2 + z**2)

# Kinematics: all that follows from the way of the load and of the trolley, up to jerks.
model = crane()
way_of_load = {("load", (0, 0, -low)): [str(x), None, str(z)], "rail": str(place)}
moved = da.kinematics(model, T, way_of_load)
wound = moved.joint("hoist")
print(f"rope is wound up with at most {np.abs(wound.velocity).max():.3f} m/s; swing up to "
      f"{np.degrees(np.abs(moved.joint('swing').position).max()):.2f}°")  # fmt: skip
length = sp.lambdify(t, rope)(moved.time.values)
assert np.abs(low - wound.position - length).max() < 1e-9

# Inverse dynamics: three coordinates, two motors. Nobody turns the rope at the trolley, and nobody has to.
inverse = da.inverse_dynamics(model, way_of_load, T, unknowns=["rail", "hoist"])
print(inverse.certificate)
print(inverse.sizing())
assert inverse.certificate.trusted
tension = m * sp.sqrt(sp.diff(x, t, 2) ** 2 + (g + sp.diff(z, t, 2)) ** 2)
push = M * sp.diff(place, t, 2) + m * sp.diff(x, t, 2)
for name, formula in (("rail", push), ("hoist", tension)):
    by_hand = sp.lambdify(t, formula)(inverse.time.values)
    assert np.abs(inverse[name] - by_hand).max() < 1e-7 * np.abs(by_hand).max()


# Is it true? Trolley and winch are driven so, and the rope swings as it likes: the load arrives and hangs still.
def until_the_end(formula: sp.Expr) -> str:
    """The same motion, that stands still after T."""
    return str(formula.subs(t, sp.Symbol("now"))).replace("now", f"min(t, {T})")


def sway(trolley: sp.Expr) -> da.Trajectory:
    """A run with given motion of the trolley, some seconds longer than that."""
    driven = crane()
    driven.drive("rail", until_the_end(trolley))
    driven.drive("hoist", until_the_end(low - rope))
    return da.simulate(driven, T + 4.0)


clever, plain = sway(place), sway(x)
after = clever.time.values > T
swings = [np.degrees(np.abs(run.joint("swing").q.values[after]).max()) for run in (clever, plain)]
print(f"the load swings by {swings[0]:.1e}° afterward; by {swings[1]:.2f}° if the trolley moves as the load should")
assert clever.certificate.trusted and swings[0] < 1e-4 and swings[1] > 1

# Small swings with the winch locked: quicker on a free trolley, which moves against the load.
hanging = {"hoist": low - high}
for free, square in ((True, (1 + m / M) * g / high), (False, g / high)):
    locked = crane()
    locked.drive("hoist", low - high)
    if not free:
        locked.drive("rail", 0)
    modes = [mode for mode in da.linearize(locked, hanging).modes() if mode.frequency > 0]
    print(f"{'free' if free else 'held'} trolley: {modes[0].frequency:.4f} Hz")
    assert len(modes) == 1 and abs(abs(modes[0].eigenvalue) ** 2 / square - 1) < 1e-12

inverse.plot(out / "20_crane.png")
clever.animate(out / "20_crane.html")
