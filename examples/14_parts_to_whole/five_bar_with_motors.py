"""A five-bar robot with two geared motors: bars make an arm, two arms and a load a mechanism, motors make it a robot.

    bar ── arm {U, B} ── linkage {left, right, load} ── robot {linkage, AL, AR}

One bar serves four times, one arm twice: the right arm is the left one seen from behind, so its angles count the other
way. The current of a motor is a variable of order 1 like a speed. A gear is one invariant of order 1.

Reference: R. M. M. Orsino, "A contribution on modeling methodologies for multibody systems" (2016), examples 2.6, 2.7
and 4.3. No numbers are given there: all data here are assumed.
"""

import os
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import cumulative_simpson, solve_ivp
from sympy import cos, sin

import dalembert as da
from dalembert.modular.own_rows import COUNTS
from dalembert.trajectory.system_trajectory import SystemTrajectory
from dalembert.view import PALETTE, write_figure

OUT = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
G, BASE, GEAR = 9.81, 0.15, 200.0  # m/s²; half the distance of the pivots, m; ratio of the gears
LENGTH = {"U": 0.25, "B": 0.45}  # m
MASS = {"U": 0.4, "B": 0.3}  # kg
LOAD = 0.5  # kg
SIDES = {"left": 1, "right": -1}
MOTOR = {"k": 0.05, "kappa": 0.05, "I": 2e-5, "b": 1e-5, "inductance": 2e-3, "resistance": 1.0}


def inertia(bar: str) -> float:
    """Of a thin bar about its center."""
    return MASS[bar] * LENGTH[bar] ** 2 / 12


def make_arm() -> da.Subsystem:
    """H = {U, B}: a bar on a pivot and a bar at its end."""
    bar = da.leaves.planar_body("bar", "newton-euler", "-y", g=G)
    H = da.Subsystem("H")
    px, side, a, b = H.parameters(px=0, side=1, a=LENGTH["U"], b=LENGTH["B"])
    U, B = (H.include(bar, name, parameters={"m": MASS[name], "I": inertia(name)}) for name in "UB")
    H.invariants(U.p.x - side * a / 2 * cos(U.th) - px, U.p.y - a / 2 * sin(U.th))  # the pivot
    H.invariants(  # the elbow
        U.p.x + side * a / 2 * cos(U.th) - (B.p.x - side * b / 2 * cos(B.th)),
        U.p.y + a / 2 * sin(U.th) - (B.p.y - b / 2 * sin(B.th)),
    )
    H.independent(U.omega, B.omega)
    return H


def make_linkage() -> da.Subsystem:
    """Two arms that hold one load."""
    R = da.Subsystem("R")
    arm, load = make_arm(), da.leaves.particle("load", "-y", axes="xy", m=LOAD, g=G)
    R.include(arm, "left", parameters={"px": -BASE})
    R.include(arm, "right", parameters={"px": BASE, "side": -1})
    R.include(load)
    for side in (R.left, R.right):
        R.invariants(
            side.B.p.x + side.side * side.b / 2 * cos(side.B.th) - R.load.x,
            side.B.p.y + side.b / 2 * sin(side.B.th) - R.load.y,
        )
        R.guess({side.U.th: 1.6, side.B.th: 1.2})  # elbows outward
    R.independent(R.left.U.omega, R.right.U.omega)
    return R


def make_robot() -> da.Subsystem:
    """The linkage, two motors, two gears."""
    P = da.Subsystem("robot")
    gear = P.parameters(gear=GEAR)
    motor = da.leaves.dc_motor("motor", **MOTOR)
    R, AL, AR = P.include(make_linkage()), P.include(motor, "AL"), P.include(motor, "AR")
    P.invariants(AL.omega - gear * R.left.U.omega, AR.omega - gear * R.right.U.omega)
    P.independent(R.left.U.omega, R.right.U.omega, AL.i, AR.i)
    return P


def make_model(start: dict[str, float]) -> da.Model:
    """The same linkage by bodies and joints, with the rotors' inertia at its pivots; drawn as it starts."""
    model = da.Model("five-bar", gravity=(0, -G, 0))
    tip = np.array([start["R.load.x"], start["R.load.y"], 0.0])
    rotor = MOTOR["I"] * GEAR**2
    for name, side in SIDES.items():
        pivot, angle, axis = np.array([-side * BASE, 0.0, 0.0]), start[f"R.{name}.U.th"], (0, 0, side)
        elbow = pivot + LENGTH["U"] * np.array([side * np.cos(angle), np.sin(angle), 0.0])
        for bar, center in (("U", (pivot + elbow) / 2), ("B", (elbow + tip) / 2)):
            model.body(f"{name} {bar}", mass=MASS[bar], com=center, inertia=3 * (inertia(bar),))
        model.revolute(name, model.ground, f"{name} U", point=pivot, axis=axis, armature=rotor)
        model.revolute(f"{name} elbow", f"{name} U", f"{name} B", point=elbow, axis=axis)
    model.body("load", mass=LOAD, com=tip, inertia=(0, 0, 0))
    model.fixed("holder", "left B", "load", point=tip)
    model.revolute("tip", "left B", "right B", point=tip, axis="z")
    return model


def by_hand(model: da.Model, times: np.ndarray) -> np.ndarray:
    """Angles of bars U since the start, (T, 2): accelerations by the plain model; motors and steps written here."""
    dynamics = da.compile(model)
    joints = [slot.joint for slot in dynamics.coordinates.slots if slot.joint != "holder"]
    driven = [joints.index(name) for name in SIDES]
    n = len(joints)

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        q, u, i = y[:n], y[n : 2 * n], y[2 * n :]
        tau, rotor = np.zeros(n), GEAR * u[driven]
        tau[driven] = GEAR * (MOTOR["k"] * i - MOTOR["b"] * rotor)
        voltage = np.array([6 * np.sin(t), 6 * np.sin(2 * t)])
        di = (voltage - MOTOR["resistance"] * i - MOTOR["kappa"] * rotor) / MOTOR["inductance"]
        return np.concatenate([u, dynamics.acceleration(q, u, tau), di])

    found = solve_ivp(rates, times[[0, -1]], np.zeros(2 * n + 2), "LSODA", times, rtol=1e-10, atol=1e-11)
    return found.y[driven].T


def energy(run: SystemTrajectory) -> np.ndarray:
    """Kinetic, potential and magnetic energy (J) over time."""
    of = run.values
    total = LOAD * ((of("R.load.x.d") ** 2 + of("R.load.y.d") ** 2) / 2 + G * of("R.load.y"))
    for name, motor in zip(SIDES, ("AL", "AR"), strict=True):
        for bar in "UB":
            at = f"R.{name}.{bar}"
            total += MASS[bar] * ((of(f"{at}.v.x") ** 2 + of(f"{at}.v.y") ** 2) / 2 + G * of(f"{at}.p.y"))
            total += inertia(bar) * of(f"{at}.omega") ** 2 / 2
        total += MOTOR["I"] * of(f"{motor}.omega") ** 2 / 2 + MOTOR["inductance"] * of(f"{motor}.i") ** 2 / 2
    return total


def powers(run: SystemTrajectory) -> tuple[np.ndarray, np.ndarray]:
    """What comes in by the wires, and what becomes heat in the windings and bearings (W)."""
    given, lost = np.zeros(len(run.values("time"))), np.zeros(len(run.values("time")))
    for motor in ("AL", "AR"):
        current = run.values(f"{motor}.i")
        given += run.values(f"{motor}.voltage") * current
        lost += MOTOR["resistance"] * current**2 + MOTOR["b"] * run.values(f"{motor}.omega") ** 2
    return given, lost


def draw(run: SystemTrajectory, work: np.ndarray, heat: np.ndarray, stored: np.ndarray) -> Figure:
    """The robot at three instants with the path of its load, its currents, and where the energy goes."""
    t, of = run.values("time"), run.values
    figure = Figure(figsize=(10, 5), dpi=120, layout="constrained")
    panels = figure.subplot_mosaic([["robot", "current"], ["robot", "energy"]], width_ratios=[1.15, 1])
    robot, current, energies = panels["robot"], panels["current"], panels["energy"]
    colors = dict(zip(SIDES, PALETTE, strict=False))
    for shade, k in zip((1.0, 0.5, 0.25), np.searchsorted(t, [0.0, 1.6, 3.2]), strict=True):
        for name, side in SIDES.items():
            angle = of(f"R.{name}.U.th")[k]
            x = [-side * BASE, side * (LENGTH["U"] * np.cos(angle) - BASE), of("R.load.x")[k]]
            y = [0, LENGTH["U"] * np.sin(angle), of("R.load.y")[k]]
            robot.plot(x, y, "o-", color=colors[name], alpha=shade, linewidth=4, markersize=7)
        robot.plot(of("R.load.x")[k], of("R.load.y")[k], "s", color="black", alpha=shade, markersize=13)
    robot.plot(of("R.load.x"), of("R.load.y"), color="black", linewidth=1)
    robot.set(aspect="equal", title="the robot at 0, 1.6 and 3.2 s; path of the load", xlabel="x (m)", ylabel="y (m)")
    for name, motor in zip(SIDES, ("AL", "AR"), strict=True):
        current.plot(t, of(f"{motor}.i"), color=colors[name], label=f"{name} motor")
    for label, values, color in zip(
        ("work of the voltages", "heat", "stored"), (work, heat, stored), PALETTE[2:], strict=False
    ):
        energies.plot(t, values, color=color, label=label)
    current.set(ylabel="current (A)")
    energies.set(xlabel="time (s)", ylabel="energy since the start (J)")
    for panel in panels.values():
        panel.spines[["top", "right"]].set_visible(False)
    for panel in (current, energies):
        panel.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
    return figure


# Derived once: a bar (used four times), an arm (twice), a motor (twice), the load, the linkage, the robot.
before = COUNTS["composed"]
robot = make_robot()
equations = robot.equations()
print("dynamic equations of", *equations.f_bar.rows)
made = COUNTS["composed"] - before  # fewer than 6 where something of it was derived before in this process
assert len(equations.nodes) == 11 and made <= 6
assert equations.degrees_of_freedom == 4  # two angles, two currents

# Six seconds under 6 sin t and 6 sin 2t volts.
start = {"R.left.U.th": 1.6, "R.right.U.th": 1.6, "R.left.U.omega": 0, "R.right.U.omega": 0, "AL.i": 0, "AR.i": 0}
voltages = {"AL.voltage": "6*sin(t)", "AR.voltage": "6*sin(2*t)"}
run = da.simulate(robot, 2 * np.pi, initial=start, inputs=voltages, output_step=0.001)
print(run.certificate)
assert run.certificate.trusted
t = run.values("time")

# What the voltages give is stored, or becomes heat.
stored = energy(run) - energy(run)[0]
work, heat = (cumulative_simpson(power, x=t, initial=0) for power in powers(run))
gap = np.abs(work - heat - stored).max()
print(f"work {work[-1]:.6f} J, heat {heat[-1]:.6f} J, stored {stored[-1]:.6f} J; they close to {gap:.1e} J")
assert gap < 1e-7 and heat[-1] > 0.5

# The plain model with motors by hand moves alike.
first = {name: float(run.values(name)[0]) for name in run.names}
other = by_hand(make_model(first), t[::50])
angles = np.column_stack([run.values(f"R.{name}.U.th")[::50] for name in SIDES])
difference = np.abs(angles - angles[0] - other).max()
print(f"the plain model differs by {difference:.1e} rad")
assert difference < 1e-6 < np.ptp(angles)

print("wrote", write_figure(draw(run, work, heat, stored), OUT / "five-bar-with-motors.png"))

# The other way round: which voltages move both bars so? Currents follow from torques, voltages from currents and rates.
motion = {"R.left.U.th": "1.6 + 0.25*sin(2*t)", "R.right.U.th": "1.6 - 0.2*sin(3*t)"}
inverse = da.inverse_dynamics(robot, motion, 2.0, unknowns=["AL.voltage", "AR.voltage"])
print(inverse)
assert inverse.certificate.trusted
for motor in ("AL", "AR"):
    i, speed = inverse.values(f"{motor}.i"), inverse.values(f"{motor}.omega")
    rate = MOTOR["inductance"] * np.gradient(i, inverse.values("time"), edge_order=2)
    voltage = rate + MOTOR["resistance"] * i + MOTOR["kappa"] * speed
    assert np.abs(inverse.values(f"{motor}.voltage") - voltage).max() < 1e-6 < np.abs(rate).max()
