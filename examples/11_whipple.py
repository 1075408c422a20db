"""Whipple's bicycle linearized: the published matrices to all their digits, and the speeds at which it balances.

    M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = f,      q = (lean, steer)

The nonlinear equations of any formulation are differentiated by CasADi, so exactly, about upright straight rolling; the
result is evaluated with 40 digits instead of 16.

Reference: J. P. Meijaard, J. M. Papadopoulos, A. Ruina, A. L. Schwab, "Linearized dynamics equations for the balance
and steer of a bicycle: a benchmark and review", Proc. R. Soc. A 463 (2007) 1955-1982.
"""

import os
from pathlib import Path

import casadi as ca
import numpy as np
from mpmath import MPContext

import dalembert as da
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen.tape import trace

mp = MPContext()
mp.dps = 40
mpf = mp.mpf
ROUND_OFF = mpf(10) ** -30

# Section 5 of the paper, as printed.
PUBLISHED = {
    "M": (("80.81722", "2.31941332208709"), ("2.31941332208709", "0.29784188199686")),
    "C1": (("0", "33.86641391492494"), ("-0.85035641456978", "1.68540397397560")),
    "K0": (("-80.95", "-2.59951685249872"), ("-2.59951685249872", "-0.80329488458618")),
    "K2": (("0", "76.59734589573222"), ("0", "2.65431523794604")),
}
# Coordinates: contact point x, y, heading, lean and spin of the rear wheel; angles of rear hub, steering, front hub.
AHEAD, LEAN, SPIN, REAR_HUB, STEER, FRONT_HUB = 0, 3, 4, 5, 6, 7
LEAN_AND_STEER = [LEAN, STEER]
# Where the bicycle is, where it heads, and how far its wheels have turned should not matter.
IGNORABLE = [AHEAD, 1, 2, SPIN, FRONT_HUB]


# Numbers with many digits: what CasADi traced, one instruction after the other

UNARY = {
    "neg": lambda a: -a, "sq": lambda a: a * a, "twice": lambda a: 2 * a, "inv": lambda a: 1 / a, "sqrt": mp.sqrt,
    "sin": mp.sin, "cos": mp.cos, "tan": mp.tan,
}  # fmt: skip
BINARY = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b, "constpow": lambda a, b: a**b,
}  # fmt: skip


class Exact:
    """CasADi expressions of named symbols as a function of mpmath numbers."""

    def __init__(self, outputs, inputs):
        self.tape, self.names = trace("many digits", inputs, outputs), list(inputs)
        self.shapes = {name: expression.shape for name, expression in outputs.items()}

    def __call__(self, values):
        given = [mpf(x) for name in self.names for x in values[name]]
        constants, known = [mpf(x) for x in self.tape.constants], []
        for op, a, b in zip(self.tape.ops, self.tape.a, self.tape.b, strict=True):
            if op in BINARY:
                known.append(BINARY[op](known[a], known[b]))
            elif op in UNARY:
                known.append(UNARY[op](known[a]))
            else:
                known.append(given[a] if op == "input" else constants[a])
        flat, found = iter(self.tape.results), {}
        for name, (rows, columns) in self.shapes.items():
            entries = [known[next(flat)] for _ in range(rows * columns)]
            found[name] = np.array(entries, dtype=object).reshape(rows, columns)
        return found


def solved(A, B):
    """X of A X = B, in many digits; A may have more rows than columns."""
    Q, R = mp.qr(mp.matrix(A.tolist()), mode="skinny")
    X = np.array((R**-1 * (Q.T * mp.matrix(B.tolist()))).tolist(), dtype=object)
    left = max(abs(x) for x in (A @ X - B).flat)
    assert left < ROUND_OFF, f"the equations contradict each other by {mp.nstr(left)}"
    return X


# The nonlinear equations


def equations_of(dynamics):
    """Symbols q, w, ẇ, λ, τ;  what vanishes along every motion;  q̇ and q̈;  and the velocities w as functions of q̇.

    Formalisms of analytical mechanics have velocities w of their own; in the other formulations they are u.
    """
    al, formulation, e = CASADI, dynamics.formulation, dynamics.equations(dynamics.tau[1])
    if dynamics.coordinates.name == "generalized" and hasattr(formulation, "derive"):
        derived = formulation.derive(formulation.mechanics(e))
        w, definition, rates, K, k = derived.w, derived.definition, derived.qdot, derived.matrix, derived.forcing
        A, gamma = derived.jacobian, derived.gamma
        if derived.metric is not None:
            K, k = derived.metric @ K, derived.metric @ k
    else:
        blocks = formulation.blocks(e)
        w, definition, rates, K, k = e.u, e.u, e.qdot(), blocks["mass_matrix"], blocks["forcing"]
        A, gamma = blocks["jacobian"], blocks["gamma"]
    (dw, dw_), (multipliers, multipliers_) = al.symbols("dw", len(w)), al.symbols("lambda", len(gamma))
    symbols = {"q": dynamics.symbols["q"][0], "w": al.to_sx(w), "dw": dw, "lambda": multipliers, "tau": dynamics.tau[0]}
    q_dot = al.to_sx(rates)
    slip = ca.substitute(al.to_sx(e.jacobian @ e.u + e.velocity_bias), dynamics.symbols["u"][0], q_dot)
    motion = [K @ dw_ - k - A.T @ multipliers_, A @ dw_ + gamma, e.position_residual()]
    laws = ca.vertcat(*(al.to_sx(part) for part in motion), slip)
    q_ddot = ca.jtimes(q_dot, symbols["q"], q_dot) + ca.jtimes(q_dot, symbols["w"], dw)
    return symbols, {"laws": laws, "rates": q_dot, "accelerations": q_ddot}, al.to_sx(definition)


class Bicycle:
    """Upright straight rolling, and what small disturbances do to it."""

    def __init__(self, formulation, coordinates):
        dynamics = da.compile(da.library.bicycle(), formulation=formulation, coordinates=coordinates)
        self.symbols, functions, definition = equations_of(dynamics)
        t, q, u, p = (dynamics.symbols[name][0] for name in "tqup")
        every = ca.vertcat(*self.symbols.values())
        derivatives = {f"d {name}": ca.jacobian(function, every) for name, function in functions.items()}
        self.functions = Exact({"laws": functions["laws"], **derivatives}, {"t": t, "p": p, **self.symbols})
        self.velocities = Exact({"w": definition}, {"t": t, "p": p, "q": q, "u": u})
        # The parameters are decimal numbers; λ is a tenth of π.
        self.parameters = {name: mpf(repr(value)) for name, value in dynamics.flat.parameters.items()}
        self.parameters["lam"] = mp.pi / 10

    def at(self, v):
        """All functions in straight rolling at the speed v."""
        turn_R, turn_F = v / self.parameters["rR"], v / self.parameters["rF"]
        ahead = {AHEAD: v, SPIN: turn_R, REAR_HUB: -turn_R, FRONT_HUB: turn_F}
        state = {"t": [0], "p": list(self.parameters.values()), "q": [0] * 8, "u": [ahead.get(i, 0) for i in range(8)]}
        state["w"] = self.velocities(state)["w"][:, 0]
        state |= {name: [0] * self.symbols[name].numel() for name in ("dw", "lambda", "tau")}
        # The laws are linear in ẇ and λ, which come from a first look.
        seen, n, m = self.functions(state), len(state["q"]) + len(state["w"]), len(state["dw"])
        unknown = solved(seen["d laws"][:, n : n + m + len(state["lambda"])], -seen["laws"])[:, 0]
        return self.functions(state | {"dw": unknown[:m], "lambda": unknown[m:]})

    def response(self, v):
        """Accelerations of lean and steer due to unit torques on them, to unit rates, to unit lean and steer; and to
        units of what should not matter."""
        seen = self.at(v)
        laws, by_torque = seen["d laws"][:, :-8], seen["d laws"][:, -8:][:, LEAN_AND_STEER]
        # A disturbance (δq, δw, δẇ, δλ) obeys the laws to first order and has given rates and coordinates.
        rates = seen["d rates"][[*LEAN_AND_STEER, AHEAD], :-8]
        given = (*LEAN_AND_STEER, *IGNORABLE)
        places = np.array([[mpf(i == j) for j in range(laws.shape[1])] for i in given], dtype=object)
        units = len(rates) + len(places)
        right = np.full((len(laws) + units, 2 + units), mpf(0))
        right[: len(laws), :2] = -by_torque
        right[len(laws) :, 2:] = np.diag([mpf(1)] * units)
        disturbances = solved(np.concatenate([laws, rates, places]), right)
        found = seen["d accelerations"][LEAN_AND_STEER, :-8] @ disturbances
        return found[:, :2], found[:, 2:4], found[:, 5:7], np.concatenate([found[:, 4:5], found[:, 7:]], axis=1)

    def matrices(self):
        """M, C₁, K₀, K₂; that C is linear and K quadratic in v is checked at a third speed."""
        found = []
        for v in (0, 1, 2):
            by_torque, by_rate, by_place, rest = self.response(mpf(v))
            assert max(abs(x) for x in rest.flat) < ROUND_OFF, "place, heading and speed must not matter"
            M = solved(by_torque, np.diag([mpf(1)] * 2))
            found.append((M, -M @ by_rate, -M @ by_place))
        (M, C_0, K_0), (M_1, C_1, K_1), (M_2, C_2, K_2) = found
        left = (C_0, M_1 - M, M_2 - M, C_2 - 2 * C_1, K_2 - K_0 - 4 * (K_1 - K_0))
        assert max(abs(x) for part in left for x in part.flat) < ROUND_OFF, "the form of the equations"
        return {"M": M, "C1": C_1, "K0": K_0 / self.parameters["g"], "K2": K_1 - K_0}


def agrees(value, printed):
    """True if a number, rounded to the printed decimals, is what was printed."""
    decimals = len(printed.partition(".")[2])
    return abs(value - mpf(printed)) <= mpf(10) ** -decimals / 2


# Stability


def first_order(matrices, v):
    """The matrix of  d/dt (q, q̇)."""
    g, (M, C1, K0, K2) = mpf("9.81"), (matrices[name] for name in PUBLISHED)
    inverse, zero = solved(M, np.diag([mpf(1)] * 2)), np.full((2, 2), mpf(0))
    return np.block([[zero, np.diag([mpf(1)] * 2)], [-inverse @ (g * K0 + v**2 * K2), -inverse @ (v * C1)]])


def eigenvalues(matrices, v):
    """Of small motions at the speed v, in many digits, sorted by their real parts."""
    values, _ = mp.eig(mp.matrix(first_order(matrices, mpf(v)).tolist()))
    return sorted((mp.chop(x, ROUND_OFF) for x in values), key=lambda x: (mp.re(x), mp.im(x)))


def critical_speeds(matrices):
    """Weave, where a pair of eigenvalues crosses the imaginary axis, and capsize, where a real one passes zero."""

    def weave(v):
        return max(mp.re(x) for x in eigenvalues(matrices, v) if abs(mp.im(x)) > 1)

    def capsize(v):
        K = mpf("9.81") * matrices["K0"] + v**2 * matrices["K2"]
        return K[0, 0] * K[1, 1] - K[0, 1] * K[1, 0]

    return tuple(mp.findroot(f, between, solver="anderson") for f, between in ((weave, (4, 5)), (capsize, (6, 7))))


def draw(matrices, path):
    """Eigenvalues over speed."""
    from matplotlib.figure import Figure

    speeds = np.linspace(0, 10, 401)
    values = np.array([np.linalg.eigvals(first_order(matrices, v).astype(float)) for v in speeds])
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for column in range(4):
        label = ("real parts", "imaginary parts") if column == 0 else (None, None)
        axes.plot(speeds, values[:, column].real, ".", color="#0072b2", markersize=3, label=label[0])
        moved = np.abs(values[:, column].imag)
        axes.plot(speeds[moved > 0], moved[moved > 0], ".", color="#de8f05", markersize=2, label=label[1])
    weave, capsize = (float(v) for v in critical_speeds(matrices))
    axes.axvspan(weave, capsize, color="#029e73", alpha=0.15, label=f"stable, {weave:.3f} … {capsize:.3f} m/s")
    for x, y, name in ((1.5, 3.6, "weave"), (1.5, -2.6, "capsize"), (1.5, -7.2, "castering")):
        axes.text(x, y, name, color="#0072b2")
    axes.axhline(0, color="#616e7c", linewidth=0.8)
    axes.set(xlim=(0, 10), ylim=(-10, 10), xlabel="speed (m/s)", ylabel="eigenvalues (1/s)", title="Whipple's bicycle")
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=150)


def main():
    out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
    matrices = Bicycle("lagrange-multipliers", "relative").matrices()
    print(f"{'':8}{'computed':>28}  {'published':>18}")
    for name, rows in PUBLISHED.items():
        for i, row in enumerate(rows):
            for j, printed in enumerate(row):
                value = mp.chop(matrices[name][i, j], ROUND_OFF)
                print(f"{name}[{i},{j}]".ljust(8) + f"{mp.nstr(value, 22):>28}  {printed:>18}")
                assert agrees(value, printed)
    print("speed (m/s)   eigenvalues (1/s)")
    for v in range(11):
        print(f"{v:11}   " + "  ".join(mp.nstr(x, 14) for x in eigenvalues(matrices, v) if mp.im(x) >= 0))
    weave, capsize = critical_speeds(matrices)
    print(f"stable between {mp.nstr(weave, 16)} and {mp.nstr(capsize, 16)} m/s")
    # The published speeds, found with 16 digits, are off by one in the last.
    assert abs(weave - mpf("4.29238253634111")) < 2e-14 and abs(capsize - mpf("6.02426201538837")) < 2e-14
    draw(matrices, out / "11_whipple.png")

    # The nonlinear bicycle, pushed over a little, weaves back upright: as the eigenvalue that decays slowest says.
    run = da.simulate(da.library.bicycle(speed=4.6, lean=0.1), 8.0)
    assert run.certificate.trusted and abs(float(run.output("lean")[-1])) < 0.01
    run.animate(out / "11_whipple.html")


if __name__ == "__main__":
    main()
