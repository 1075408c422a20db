"""Textbook mechanisms by nodes against their closed forms."""

from __future__ import annotations

import numpy as np

import dalembert as da


def peaucellier(r: float, arm: float, side: float, angle: float) -> da.Planar:
    """Peaucellier and Lipkin's linkage: the crank's tip P goes through O, and |OP| |OQ| = arm² − side²."""
    P = r + r * np.cos(angle), r * np.sin(angle)
    d = np.hypot(*P)
    along, across = np.array(P) / d, np.array([-P[1], P[0]]) / d
    a = (arm**2 - side**2 + d**2) / (2 * d)
    h = np.sqrt(arm**2 - a**2)
    B, C, Q = (tuple(map(float, one)) for one in (a * along + h * across, a * along - h * across, 2 * a * along - P))
    w = da.Planar("peaucellier")
    w.base(O=(0, 0), A=(r, 0))
    crank = w.body("crank", A=(r, 0), P=P, mass=0.2, inertia=0.002)
    ob, oc = (w.body(f"o{k}", O=(0, 0), E=end, mass=0.3, inertia=0.01) for k, end in (("b", B), ("c", C)))
    pb, pc = (w.body(f"p{k}", P=P, E=end, mass=0.1, inertia=0.001) for k, end in (("b", B), ("c", C)))
    qb, qc = (w.body(f"q{k}", Q=Q, E=end, mass=0.1, inertia=0.001) for k, end in (("b", B), ("c", C)))
    w.revolute("A", "base.A", crank.A, torque="u")
    for k, (o, p, q) in enumerate([(ob, pb, qb), (oc, pc, qc)]):
        w.revolute(f"O{k}", "base.O", o.O)
        w.revolute(f"P{k}", crank.P, p.P)
        w.revolute(f"near{k}", o.E, p.E)
        w.revolute(f"far{k}", o.E, q.E)
    w.revolute("Q", qb.Q, qc.Q)
    return w


def test_peaucelliers_point_stays_on_a_straight_line() -> None:
    """x_Q = (arm² − side²)/(2 r): without gravity and load, whatever the crank does."""
    r, arm, side = 0.3, 0.9, 0.4
    w = peaucellier(r, arm, side, 0.5)
    inverse = da.inverse_dynamics(w, {"crank.angle": "0.4*sin(2*t)"}, 2.0, unknowns=["u"])
    assert inverse.certificate.trusted
    line = (arm**2 - side**2) / (2 * r)
    np.testing.assert_allclose(w.values(inverse, "qb.Q.x"), line, rtol=0, atol=1e-12)
    height = line * np.tan((0.5 + 0.4 * np.sin(2 * inverse["u"]["time"].values)) / 2)
    np.testing.assert_allclose(w.values(inverse, "qb.Q.y"), height, rtol=0, atol=1e-12)
    nodes = w.to_subsystem()
    equations = nodes.equations()
    assert equations.degrees_of_freedom == 1 and not equations.redundant
    run = da.simulate(nodes, 1.0, inputs={"u": "0.05*sin(3*t)"})
    assert run.certificate.trusted
    np.testing.assert_allclose(run["qb.Q.x"], line, rtol=0, atol=1e-10)


def test_a_scotch_yoke_is_a_cosine() -> None:
    """x = r cos θ; the crank at a constant rate feels the yoke's inertia alone, u = −m ẍ r sin θ."""
    r, rate, m, start = 0.1, 3.0, 1.5, 0.3
    pin = r * np.cos(start), r * np.sin(start)
    w = da.Planar("scotch yoke")
    w.base(O=(0, 0), G=(0.5, 0))
    crank = w.body("crank", O=(0, 0), pin=pin, mass=0.2, inertia=1e-3, com="O")
    yoke = w.body("yoke", S=(pin[0], 0), G=(0.5, 0), mass=m, inertia=0.01)
    w.revolute("O", "base.O", crank.O, torque="u")
    w.prismatic("guide", "base", yoke, point=(0.5, 0), axis="x")
    w.pin_in_slot("slot", yoke, crank.pin, axis="y")
    inverse = da.inverse_dynamics(w, {"crank.angle": "3*t"}, 2.0, unknowns=["u"])
    theta = start + rate * inverse["u"]["time"].values
    np.testing.assert_allclose(w.values(inverse, "yoke.S.x"), r * np.cos(theta), rtol=0, atol=1e-13)
    torque = m * r**2 * rate**2 * np.cos(theta) * np.sin(theta)
    np.testing.assert_allclose(inverse["u"], torque, rtol=0, atol=1e-13)
