"""Which integrator, and how the motion stays on the constraints: by name, or by the look of the problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from dalembert.analyses.simulation.event_handlers import EventHandler, MechanismHandler
from dalembert.dynamics import Context, Dynamics
from dalembert.dynamics.make_context import project_stages, project_states
from dalembert.errors import DalembertError, check_known, unknown
from dalembert.integrators import INTEGRATORS, Integrator
from dalembert.values import SEQUENCE, is_positive

if TYPE_CHECKING:
    from dalembert.modular.compiled_system import CompiledSystem

__all__ = ["BAUMGARTE", "Choice", "baumgarte_constants", "choose_integrator", "choose_methods"]

# From this relative tolerance on a method of order 5 takes less work than one of order 8.
LOOSE = 1e-5

BAUMGARTE = 10.0  # 1/s

_PROJECTIONS = ("projection", "partition", "stages")
_FORMS = ("index-1", "ggl", "index-2")
Baumgarte = float | tuple[float, ...]
STABILIZATIONS = ("auto", *_PROJECTIONS, "baumgarte", "none", *_FORMS)


@dataclass(frozen=True)
class Choice:
    """How time passes.

    Attributes:
        method: the integrator.
        fallback: what to take instead if the problem turns out stiff; None to go on.
        reason: why these.
        settle: sets stabilization and projection of a new context.
        handler: what events do; those of a mechanism have one of their own.
    """

    method: Integrator
    fallback: Integrator | None = None
    reason: str = "as asked"
    settle: Callable[[Context], None] = lambda context: None
    handler: type[EventHandler] = EventHandler


def choose_integrator(
    dynamics: Dynamics,
    name: str | Integrator,
    numbers: dict[str, float | None],
    stabilization: str,
    baumgarte: Baumgarte | None,
    drift: float | None = None,
) -> Choice:
    """The integrator with its ``rtol``, ``atol`` and ``step``, and the stabilization."""
    method, fallback, why = choose_methods(dynamics, name, numbers, stabilization)
    return Choice(method, fallback, why, _stabilizer(dynamics, stabilization, baumgarte, drift), MechanismHandler)


def choose_methods(
    dynamics: Dynamics | CompiledSystem, name: str | Integrator, numbers: dict[str, float | None], stabilization: str
) -> tuple[Integrator, Integrator | None, str]:
    """The integrator, what to take instead if the problem turns out stiff, and why."""
    if isinstance(name, Integrator):
        return name, None, "as asked"
    options = _numbers(**numbers)
    if stabilization in _FORMS:
        if name not in ("auto", "radau"):
            raise DalembertError(f"stabilization={stabilization!r} is a form of 'radau', not of {name!r}")
        return _make("radau", {**options, "form": stabilization}), None, f"the {stabilization} form asks for it"
    if name != "auto":
        return _make(name, options), None, "as asked"
    loose = options.get("rtol", 0.0) >= LOOSE
    chosen = "tsit5" if loose else "dopri8"
    why = "smooth motion at a loose tolerance" if loose else "smooth motion at a tight tolerance"
    if dynamics.is_large:
        return _make(chosen, options), None, f"{why}, many bodies"
    why += "; radau takes over where the problem turns out stiff"
    method: Any = _make(chosen, {**options, "watch_stiffness": True})
    # Which method runs must not decide how accurate a run is.
    return method, _make("radau", {**options, "rtol": method.rtol, "atol": method.atol}), why


def _numbers(**given: float | None) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for key, value in given.items():
        if value is None:
            continue
        if not is_positive(value):
            raise DalembertError(f"{key} must be a positive number, got {value!r}")
        options[key] = float(value)
    return options


def baumgarte_constants(given: Any, most: int = 3) -> tuple[float, float, float]:
    """α, β and γ of Baumgarte's stabilization, from one number α = β, or from two or three; γ = 2α without."""
    values = tuple(given) if isinstance(given, SEQUENCE) else (given, given)
    if not 2 <= len(values) <= most:
        more = ", or (α, β, γ)" if most == 3 else ""
        raise DalembertError(f"baumgarte must be one number α = β, or two (α, β){more}, got {given!r}")
    alpha, beta, *rest = (_numbers(baumgarte=value)["baumgarte"] for value in values)
    return alpha, beta, rest[0] if rest else 2.0 * alpha


def _make(name: str, options: dict[str, Any]) -> Integrator:
    if name not in INTEGRATORS:
        raise unknown("unknown integrator", name, INTEGRATORS, "expected 'auto' or one of")
    kind: Any = INTEGRATORS[name]
    options = dict(options)
    if kind.adaptive and "step" in options:
        options["max_step"] = options.pop("step")
    refused = sorted(set(options) - {field.name for field in fields(kind)})
    if refused:
        raise DalembertError(f"integrator {name!r} has a fixed step and takes no {' or '.join(refused)}.  Fix: step=…")
    return kind(**options)


def _stabilizer(
    dynamics: Dynamics, name: str, baumgarte: Baumgarte | None, drift: float | None
) -> Callable[[Context], None]:
    """What sets a context to the stabilization asked for."""
    check_known("unknown stabilization", name, STABILIZATIONS)
    if baumgarte is not None and name == "auto":
        name = "baumgarte" if drift is None else "partition"
    led_back = name in ("auto", *_PROJECTIONS) and not dynamics.is_large and dynamics.variables is None
    if drift is not None and not led_back:
        raise DalembertError(
            f"drift={drift} is for states (q, u) that are projected onto the constraints, by "
            "stabilization='projection' "
            f"or 'partition'"
        )
    if baumgarte is not None and name != "baumgarte" and drift is None:
        raise DalembertError(f"baumgarte={baumgarte} and stabilization={name!r} exclude each other")
    pulled = name == "baumgarte" or baumgarte is not None
    if pulled and dynamics.rows and dynamics.variables is not None:
        raise DalembertError(f"formulation {dynamics.formulation.name!r} has no Baumgarte stabilization")
    if name == "stages" and dynamics.variables is not None:
        raise DalembertError(f"formulation {dynamics.formulation.name!r} has its own way to stay on the constraints")
    tolerated = _numbers(drift=drift).get("drift", 0.0)
    alpha, beta, _ = baumgarte_constants(BAUMGARTE if baumgarte is None else baumgarte, 2)

    def settle(context: Context) -> None:
        if pulled:
            context.alpha, context.beta = alpha, beta
        context.drift = tolerated
        if name in ("baumgarte", "none"):
            project_states(context, None)
        elif name == "stages" and dynamics.rows:
            project_stages(context)
        elif name in _PROJECTIONS and dynamics.rows:
            project_states(context, name)

    return settle
