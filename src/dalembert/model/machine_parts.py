"""Ready parts, made of states, inputs and forces: motors, controllers, actuators, cylinders.

    da.parts.dc_motor(model, "motor", "shaft", voltage="u", resistance=1, inductance=1e-3, constant=0.05)

Each adds what it consists of to a model and gives the symbol or formula of what comes out. All numbers may be formulas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import sympy as sp

from dalembert.arguments import public
from dalembert.elements.base import formula_of
from dalembert.errors import ModelError, Problem
from dalembert.expressions import TIME, number, parameter, reference
from dalembert.model.model import Model
from dalembert.values import NO_NUMBER, SEQUENCE

__all__ = ["cylinder", "dc_motor", "lag", "pid", "sampled"]

LATER = 1e-9  # of a period


def _formula(what: str, value: Any) -> sp.Expr:
    try:
        return formula_of(value)
    except ValueError as error:
        raise ModelError(Problem(f"{what}: {error}")) from None


def _clipped(value: Any, limits: Any, what: str) -> Any:
    """A value between limits: a number for both sides, or (least, largest)."""
    if limits is None:
        return value
    both: Any = limits if isinstance(limits, SEQUENCE) else None
    if both is not None and len(both) != 2:
        raise ModelError(Problem(f"{what}: expected a number, or (least, largest), got {limits!r}"))
    largest = _formula(what, limits if both is None else both[1])
    least = -largest if both is None else _formula(what, both[0])
    if least.is_number and largest.is_number and not float(least) < float(largest):
        raise ModelError(Problem(f"{what}: the least value must be below the largest, got {least} and {largest}"))
    return _between(value, least, largest)


def _between(value: Any, least: Any, largest: Any) -> Any:
    return cast(Any, sp).Min(cast(Any, sp).Max(value, least), largest)


@public
def dc_motor(
    model: Model,
    name: str,
    joint: Any,
    *,
    voltage: Any,
    resistance: Any,
    inductance: Any,
    constant: Any,
    **more: Any,
) -> sp.Symbol:
    """A DC motor on a joint:  L di/dt = v − R i − k n ω,  torque = n (k i − d n ω − c tanh(n ω/w)).

    Args:
        joint: with one velocity ω, which the gear drives.
        voltage: v (V), a formula: an input, or what a controller gives.
        resistance, inductance: R (Ω), L (H).
        constant: k (N m/A = V s/rad).
        more: ``gear``, n, turns of the motor per turn of the joint (1); ``inertia``, of the rotor (kg m²), which the
            joint gets as armature n² J; ``damping``, d (N m s/rad), and ``friction``, c (N m), of the rotor's
            bearings; ``slip``, w (rad/s, 1), below which friction grows with speed instead of sticking.

    Returns:
        the current, the state ``name_i`` (A).
    """
    known = {"gear": 1, "inertia": 0, "damping": 0, "friction": 0, "slip": 1}
    if more.keys() - known.keys():
        raise TypeError(f"dc_motor() got unexpected arguments {', '.join(sorted(more.keys() - known.keys()))}")
    given = {**known, **more, "voltage": voltage, "R": resistance, "L": inductance, "k": constant}
    f = {key: _formula(f"motor {name!r}: {key}", value) for key, value in given.items()}
    target = str(getattr(joint, "name", joint))
    speed = f["gear"] * reference("u", target)
    current = parameter(f"{name}_i")
    model.state(current.name, (f["voltage"] - f["R"] * current - f["k"] * speed) / f["L"], unit="A")
    losses = f["damping"] * speed + f["friction"] * sp.tanh(speed / f["slip"])
    model.joint_force(name, target, f["gear"] * (f["k"] * current - losses))
    if f["inertia"] != 0:
        _add_armature(model, name, target, f["gear"] ** 2 * f["inertia"])
    return current


def _add_armature(model: Model, name: str, joint: str, inertia: sp.Expr) -> None:
    for i, data in enumerate(model.joints):
        if data.name == joint:
            total = inertia if data.armature is None else data.armature + inertia
            model.joints[i] = data.model_copy(update={"armature": total})
            return
    listed = ", ".join(data.name for data in model.joints)
    raise ModelError(Problem(f"motor {name!r}: unknown joint {joint!r}", "joints", f"one of {listed}"))


@public
def pid(
    model: Model,
    name: str,
    error: Any,
    *,
    kp: Any,
    ki: Any = 0,
    kd: Any = 0,
    **more: Any,
) -> sp.Expr:
    """A PID controller:  v = kp e + ki ∫e dt + kd de/dt, the derivative through a filter.

    Args:
        error: e, a formula: the desired value minus the actual one.
        kp, ki, kd: gains.
        more: ``filter``, time constant of the derivative (s, 0.01); ``limits`` of the output: a number, or (least,
            largest); where it is limited the integral is held back, so that it does not wind up.

    Returns:
        the formula of v; its states are ``name_integral`` and ``name_filtered``.
    """
    if more.keys() - {"filter", "limits"}:
        raise TypeError(f"pid() got unexpected arguments {', '.join(sorted(more.keys() - {'filter', 'limits'}))}")
    given = {"error": error, "kp": kp, "ki": ki, "kd": kd, "filter": more.get("filter", 0.01)}
    f = {key: _formula(f"controller {name!r}: {key}", value) for key, value in given.items()}
    output: Any = f["kp"] * f["error"]
    if f["kd"] != 0:
        filtered = parameter(f"{name}_filtered")
        rate = (f["error"] - filtered) / f["filter"]
        model.state(filtered.name, rate)
        output += f["kd"] * rate
    if f["ki"] == 0:
        return _clipped(output, more.get("limits"), f"controller {name!r}: limits")
    integral = parameter(f"{name}_integral")
    output += f["ki"] * integral
    limited = _clipped(output, more.get("limits"), f"controller {name!r}: limits")
    back = 0 if limited is output else (limited - output) / f["kp"]
    model.state(integral.name, f["error"] + back)
    return limited


@public
def lag(
    model: Model,
    name: str,
    command: Any,
    time_constant: Any,
    *,
    limits: Any = None,
    speed: Any = None,
    initial: Any = 0,
) -> sp.Symbol:
    """An actuator of first order:  T dy/dt = command − y.

    Args:
        command: a formula.
        time_constant: T (s).
        limits: of the command: a number, or (least, largest).
        speed: largest |dy/dt|.
        initial: y at the start.

    Returns:
        y, the state ``name``.
    """
    wanted = _clipped(_formula(f"actuator {name!r}: command", command), limits, f"actuator {name!r}: limits")
    rate = (wanted - parameter(name)) / _formula(f"actuator {name!r}: time_constant", time_constant)
    return model.state(name, _clipped(rate, speed, f"actuator {name!r}: speed"), initial=initial)


@public
def cylinder(
    model: Model, name: str, first: Any, second: Any, *, at: Any, valve: Any, areas: tuple[Any, Any], **more: Any
) -> tuple[sp.Symbol, sp.Symbol]:
    """A hydraulic cylinder between points of two bodies, with a valve, and oil that yields.

    The chamber of the piston pushes the points apart, that of the rod pulls them together:

        V dp/dt = β (Q − A dl/dt),   Q = c s √|Δp| sign Δp,   push = p₁ A₁ − p₂ A₂

    with the opening s of the valve from −1 to 1 and the drop of pressure Δp from the supply or to the tank.

    Args:
        at: the two points in the reference configuration.
        valve: s, a formula; positive drives the cylinder out.
        areas: A₁ of the piston, A₂ beside the rod (m²).
        more: ``supply`` (Pa, 1e7), ``tank`` (Pa, 1e5), ``flow``, c (m³/s/√Pa, 1e-7), ``bulk``, β (Pa, 1e9),
            ``volume``, V of each chamber (m³, 1e-4), ``leak`` from chamber to chamber (m³/s/Pa, 0), ``start``, both
            pressures at the start (Pa, 1e6).

    Returns:
        the pressures, states ``name_p1`` and ``name_p2`` (Pa).
    """
    known = {"supply": 1e7, "tank": 1e5, "flow": 1e-7, "bulk": 1e9, "volume": 1e-4, "leak": 0, "start": 1e6}
    if more.keys() - known.keys():
        raise TypeError(f"cylinder() got unexpected arguments {', '.join(sorted(more.keys() - known.keys()))}")
    given = {**known, **more, "valve": valve, "A1": areas[0], "A2": areas[1]}
    f = {key: _formula(f"cylinder {name!r}: {key}", value) for key, value in given.items()}
    p1, p2 = parameter(f"{name}_p1"), parameter(f"{name}_p2")
    rate, opening = reference("rate", name), _between(f["valve"], -1, 1)

    def through(drop: Any) -> Any:
        """√|Δp| sign Δp, smooth below 100 Pa."""
        return drop / (drop**2 + 1e4) ** sp.Rational(1, 4)

    leaks = f["leak"] * (p1 - p2)
    inward: list[Any] = [f["flow"] * cast(Any, sp).Max(s, 0) for s in (opening, -opening)]
    Q1 = inward[0] * through(f["supply"] - p1) - inward[1] * through(p1 - f["tank"]) - leaks
    Q2 = inward[1] * through(f["supply"] - p2) - inward[0] * through(p2 - f["tank"]) + leaks
    stiffness = f["bulk"] / f["volume"]
    model.state(p1.name, stiffness * (Q1 - f["A1"] * rate), initial=f["start"], unit="Pa")
    model.state(p2.name, stiffness * (Q2 + f["A2"] * rate), initial=f["start"], unit="Pa")
    model.strut(name, first, second, at=at, push=p1 * f["A1"] - p2 * f["A2"])
    return p1, p2


@public
def sampled(model: Model, name: str, period: Any, values: Mapping[str, Any], *, first: Any = 0) -> None:
    """A block that works at instants: every ``period`` all values are computed again, and hold in between.

        da.parts.sampled(model, "control", 0.01, {"u": "kp*(1 - q(A)) + s", "s": "s + 0.01*(1 - q(A))"})

    Args:
        period: T (s).
        values: formulas by name. Each name becomes an input that is constant between the instants, zero at the start
            unless the model has an input of this name; on the right stand the values before the instant.
        first: the first instant (s), a billionth of a period later; a run must not start behind it.
    """
    if not values:
        raise ModelError(Problem(f"sampled {name!r}: nothing to compute", fix="values={'u': …}"))
    step = _formula(f"sampled {name!r}: period", period)
    if step.is_number and not float(step) > 0:
        raise ModelError(Problem(f"sampled {name!r}: the period must be positive, got {period!r}", fix="period=0.01"))
    known = {given.name for given in model.inputs}
    for key in values:
        if key not in known:
            model.input(key)
    try:
        begin, length = float(first), number(step, model.parameter_values)
    except NO_NUMBER as error:
        raise ModelError(
            Problem(f"sampled {name!r}: {error}", fix="a number for first, numbers or parameters for period")
        ) from None
    # A formula that is zero at the start passes nothing; so the first instant comes a little later.
    clock = model.input(f"{name}_next", begin + LATER * length)
    rules: dict[Any, Any] = {**values, clock.name: clock + step}
    model.event(name, TIME - clock, direction="rising", set=rules)
