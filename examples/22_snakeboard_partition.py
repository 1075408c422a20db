"""Which coordinates should depend on the others? Projections of coordinates on the constraints of a snakeboard.

A. Müller, Z. Terze, "Differential-geometric modelling and dynamic simulation of multibody systems", Strojarstvo 51
(2009) 597-612, sec. 5.4.2, fig. 8 and the error ε: 12 coordinates (x, y, θ) of four bodies, 6 holonomic equations of
the pins and 2 nonholonomic ones of the wheels. At every place of a reference motion one step of Euler's method (0.01 s)
is led back onto the velocity constraints, once along the best dependent velocities by (67), once with one of them
exchanged for a poor one. ε = ∫ Δuᵀ M Δu dt is what leading back changed: 0.00003e-5 and 0.47836e-5 in the text, whose
masses and lengths are not given. Ours are those of the library's snakeboard.
"""

import os
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
L, FORCE, P, D, BETA = 0.8, 4.0, 10.0, 0.1, 0.5
BODIES = {"A": (0.8, 0.006), "B": (2.0, 2.0 * L**2 / 12), "C": (0.8, 0.006), "D": (4.0, 4.0 * 0.25**2 / 2)}  # kg, kg m²


def snakeboard(wheels: bool) -> da.Model:
    """In descriptor form: every body has three coordinates of its own."""
    model = da.Model("snakeboard", gravity=(0, 0, 0))
    for name, (mass, inertia) in BODIES.items():
        center = ({"A": -L / 2, "C": L / 2}.get(name, 0), 0, 0)
        model.body(name, mass=mass, pose=center, com=center, inertia=(inertia, inertia, inertia))
        size = (L, 0.06, 0.02) if name == "B" else (0.1, 0.3, 0.02)
        model.shape(name, "box", size=size, pose=center)
        model.planar(name.lower(), model.ground, name, point=center, axis="z")
    for name, side in (("a", -1), ("c", 1)):
        # Coordinates count from where a body was drawn.
        half = f"{side * L / 2!r}"
        model.constraint(f"pin {name} x", f"q({name}) + {half} - q(b) - {half}*cos(q(b, 2))")
        model.constraint(f"pin {name} y", f"q({name}, 1) - q(b, 1) - {half}*sin(q(b, 2))")
        wanted = f"{side * BETA!r}*sin(2*pi*t)"
        rate = f"{side * BETA!r}*2*pi*cos(2*pi*t)"
        torque = f"{P}*({wanted} - q({name}, 2) + q(b, 2)) + {D}*({rate} - u({name}, 2) + u(b, 2))"
        model.torque(f"on {name}", name.upper(), (0, 0, torque))
        model.torque(f"on b from {name}", "B", (0, 0, f"-({torque})"))
        if wheels:
            slip = f"u({name}, 1)*cos(q({name}, 2)) - u({name})*sin(q({name}, 2))"
            model.constraint(f"wheels {name}", slip, level="velocity")
        model.initial(name, (0, 0, 0), rate=(0, 0, side * BETA * 2 * np.pi))
    model.constraint("pin d x", "q(d) - q(b)")
    model.constraint("pin d y", "q(d, 1) - q(b, 1)")
    model.force("push", "B", (FORCE, 0, 0), axes="body")
    return model


free, full = da.compile(snakeboard(False)), da.compile(snakeboard(True))
run = da.simulate(full, 5.0, rtol=1e-11, atol=1e-13, output_step=0.01)
assert run.certificate.trusted, run.certificate
t, q, u = (run.values(name) for name in ("time", "q", "u"))
names = full.u_names

# Fig. 8: relative projections on the constraints, of positions (6 rows) and of velocities (8 rows).
positions = np.array([free.alignment(row).normal for row in q])
velocities = np.array([full.alignment(row).normal for row in q])
order = [np.argsort(-values.mean(axis=0)) for values in (positions, velocities)]
print("mean Δ_c of positions: ", {names[i]: round(float(positions[:, i].mean()), 3) for i in order[0]})
print("mean Δ_c of velocities:", {names[i]: round(float(velocities[:, i].mean()), 3) for i in order[1]})
assert list(order[0]) != list(order[1])  # as the text finds: the best choice differs between the levels


def dependent(A: np.ndarray, ranked: list[int]) -> list[int]:
    """Columns in this order, each that does not depend on those before."""
    chosen: list[int] = []
    for i in ranked:
        if np.linalg.svd(A[:, [*chosen, i]], compute_uv=False)[-1] > 1e-6:
            chosen.append(i)
        if len(chosen) == len(A):
            break
    return chosen


def epsilon(worse: bool) -> float:
    """∫ Δuᵀ M Δu dt; ``worse``: the poorest velocity that feels the constraints takes the place of a good one."""
    total, h = 0.0, 0.01
    for time, here, rate, delta in zip(t[:-1], q[:-1], u[:-1], velocities[:-1], strict=True):
        acceleration = full.acceleration(here, rate, t=time)
        there, moved = here + h * rate, rate + h * acceleration
        seen = full.residuals(time + h, there, moved)
        best = dependent(seen.jacobian, list(np.argsort(-delta)))
        if worse:
            poorest = next(i for i in np.argsort(delta) if delta[i] > 1e-6)
            best = dependent(seen.jacobian, [poorest, *reversed(best)])
        change = np.zeros(len(u[0]))
        change[best] = np.linalg.solve(seen.jacobian[:, best], -seen.velocity)
        total += h * change @ seen.mass_matrix @ change
    return total


good, poor = epsilon(False), epsilon(True)
print(f"ε of the best choice {good:.3e}, of the poor one {poor:.3e}, {poor / good:.0f} times as much")
print("the text: 0.00003e-5 and 0.47836e-5")
assert poor > 5 * good

figure, both = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True)
for axes, values, title in zip(both, (positions, velocities), ("positions", "velocities"), strict=True):
    axes.plot(t, values, label=names)
    axes.set(xlabel="time (s)", title=f"{title}: Δ_c, fig. 8 of the text redrawn")
both[1].legend(names, fontsize=7, ncols=2)
figure.savefig(out / "22_snakeboard_partition.png", dpi=130)
run.animate(out / "22_snakeboard_partition.html")
