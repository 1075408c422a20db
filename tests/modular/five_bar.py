"""The five-bar mechanism with two motors of examples 2.7 and 4.3, as a tree."""

from __future__ import annotations

from typing import Any

from sympy import cos, sin

import dalembert as da


def bar_on_pivot() -> da.Subsystem:
    """A bar whose first node is fixed."""
    U = da.Subsystem("U")
    m, inertia, gamma, g, damping, x1, y1 = U.parameters(m=1.0, I=0.1, gamma=0.5, g=9.8, b=0.05, x1=0, y1=0)
    vx, vy, w = U.quasi_velocity("v.x v.y omega")
    x2, y2 = U.coordinates("p2.x p2.y")
    dx, dy = x2 - x1, y2 - y1
    U.invariants(
        vx + w * gamma * dy, vy - w * gamma * dx, vx - w * (1 - gamma) * dy - x2.d, vy + w * (1 - gamma) * dx - y2.d
    )
    U.effective_forces({vx: -m * vx.d, vy: -m * vy.d - m * g, w: -inertia * w.d - damping * w})
    U.independent(w)
    return U


def bar() -> da.Subsystem:
    """A bar with two nodes."""
    B = da.Subsystem("B")
    m, inertia, gamma, g = B.parameters(m=1.3, I=0.15, gamma=0.4, g=9.8)
    vx, vy, w = B.quasi_velocity("v.x v.y omega")
    x1, y1, x2, y2 = B.coordinates("p1.x p1.y p2.x p2.y")
    dx, dy = x2 - x1, y2 - y1
    B.invariants(
        vx + w * gamma * dy - x1.d,
        vy - w * gamma * dx - y1.d,
        vx - w * (1 - gamma) * dy - x2.d,
        vy + w * (1 - gamma) * dx - y2.d,
    )
    B.effective_forces({vx: -m * vx.d, vy: -m * vy.d - m * g, w: -inertia * w.d})
    B.independent(vx, vy, w)
    return B


def arm(mark: str = "unused") -> da.Subsystem:
    """Chain H: a bar on a pivot and a bar, with their angles."""
    H = da.Subsystem("H")
    aU, aB, g, px, py, _ = H.parameters(aU=1.0, aB=1.5, g=9.8, px=0, py=0, **{mark: 0})
    U, B = bar_on_pivot(), bar()
    H.include(U, parameters={"g": g, "x1": px, "y1": py})
    H.include(B, parameters={"g": g})
    th, ph = H.coordinates("theta phi")
    H.invariants(B.p1.x.d - U.p2.x.d, B.p1.y.d - U.p2.y.d, th.d - U.omega, ph.d - B.omega)
    x1, y1 = px + aU * cos(th), py + aU * sin(th)
    H.identities(
        {
            U.p2.x: x1, U.p2.y: y1, B.p1.x: x1, B.p1.y: y1, B.p2.x: x1 + aB * cos(ph), B.p2.y: y1 + aB * sin(ph),
            U.omega: th.d, B.omega: ph.d,
            U.v.x: -U.gamma * aU * sin(th) * th.d, U.v.y: U.gamma * aU * cos(th) * th.d,
            B.v.x: -aU * sin(th) * th.d - B.gamma * aB * sin(ph) * ph.d,
            B.v.y: aU * cos(th) * th.d + B.gamma * aB * cos(ph) * ph.d,
        }
    )  # fmt: skip
    H.independent(th, ph)
    return H


def mechanism(mark: str = "unused") -> da.Subsystem:
    """R: two arms and a payload."""
    R = da.Subsystem("R")
    g = R.parameters(g=9.8)
    H, load = arm(mark), da.leaves.particle("L", "-y", axes="xy", m=2.0)
    R.include(H, "HL", parameters={"g": g, "px": -0.5})
    R.include(H, "HR", parameters={"g": g, "px": 0.5})
    R.include(load, parameters={"g": g})
    chi = R.coordinates("chi")
    for side in (R.HL, R.HR):
        R.invariants(side.B.p2.x.d - R.L.x.d, side.B.p2.y.d - R.L.y.d)
    R.invariant(chi.d - (R.HR.B.omega - R.HL.B.omega))
    R.independent(R.HL.theta, R.HR.theta)
    R.guess({R.HL.theta: 2.2, R.HR.theta: 0.9, R.HL.phi: 0.8, R.HR.phi: 2.3})
    return R


def robot(mark: str = "unused") -> da.Subsystem:
    """P: the mechanism and two motors."""
    P = da.Subsystem("P")
    eta = P.parameters(eta=10.0)
    motor = da.leaves.dc_motor("A")
    P.include(mechanism(mark))
    P.include(motor, "AL")
    P.include(motor, "AR")
    P.invariants(P.R.HR.theta.d - P.AR.omega / eta, P.R.HL.theta.d - P.AL.omega / eta)
    P.identities({P.AL.omega: eta * P.R.HL.theta.d, P.AR.omega: eta * P.R.HR.theta.d})
    P.independent(P.R.HL.theta, P.R.HR.theta, P.AL.i, P.AR.i)
    return P


def printed_row(X: str, Y: str, s: Any) -> Any:
    """Equation (g) of example 4.3 as printed, with the weight of the payload that it lacks (T2); s gives symbols."""

    def of(side: str, name: str) -> Any:
        return s(f"R.H{side}.{name}")

    def sides(name: str) -> tuple[Any, Any]:
        return of(X, name), of(Y, name)

    (thX, thY), (phX, phY) = sides("theta"), sides("phi")
    (dthX, dthY), (dphX, _) = sides("theta.d"), sides("phi.d")
    (ddthX, ddthY), (ddphX, ddphY) = sides("theta.dd"), sides("phi.dd")
    (aUX, aUY), (aBX, aBY) = sides("aU"), sides("aB")
    (gBX, gBY), (mBX, mBY), (IBX, IBY) = sides("B.gamma"), sides("B.m"), sides("B.I")
    gUX, mUX, IUX, bUX = of(X, "U.gamma"), of(X, "U.m"), of(X, "U.I"), of(X, "U.b")
    g, mL, eta, ddx, ddy = s("R.g"), s("R.L.m"), s("eta"), s("R.L.x.dd"), s("R.L.y.dd")
    k, IA, bA, i = (s(f"A{X}.{name}") for name in ("k", "I", "b", "i"))
    D, sX, sXY = sin(phY - phX), sin(thX - phX), sin(thX - phY)
    rows = [
        gBY * aUY * aUX * mBY * dthY**2 * sin(thY - phY) * sX / D,
        gBX * aUX**2 * mBX * dthX**2 * sX * sXY / D,
        -gBX * aUX * aBX * mBX * dphX**2 * sX,
        -dthX * (bA * eta**2 + bUX),
        -aUX * mL * ddy * cos(phY) * sX / D,
        -gBY * aUY * aUX * mBY * ddthY * cos(thY - phY) * sX / D,
        aUX * mL * ddx * sin(phY) * sX / D,
        -aUX * ddphX / aBX * (gBX * aBX**2 * mBX * cos(thX - phX) + (gBX**2 * aBX**2 * mBX + IBX) * sXY / D),
        ddthX / 2 * (
            aUX**2 * (mBX * (gBX * (1 - sin(-phY + 2 * thX - phX) / D) - 2) - 2 * gUX**2 * mUX)
            - 2 * (IA * eta**2 + IUX)
        ),
        -aUX * ddphY * sX * (gBY**2 * aBY**2 * mBY + IBY) / (aBY * D),
        k * eta * i,
        -g * aUX * (
            gBY * mBY * cos(phY) * sX / D + mBX * (gBX * cos(phX) * sXY / D + cos(thX)) + gUX * mUX * cos(thX)
        ),
    ]  # fmt: skip
    missing = -g * aUX * mL * cos(phY) * sX / D
    return sum(rows), missing
