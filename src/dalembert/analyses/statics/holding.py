"""Whether friction holds a mechanism where it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.analyses.assembly.assemble import assemble_state
from dalembert.analyses.contacts.stick import Grip, grips, settle_friction
from dalembert.analyses.contacts.touch import begin_contacts
from dalembert.arguments import public
from dalembert.dynamics import Dynamics, cached_dynamics
from dalembert.errors import DalembertError
from dalembert.model import Model
from dalembert.state import HasState, State, state_of
from dalembert.trajectory import Trajectory

__all__ = ["Holding", "holding"]

MOVES = 1e-8  # an acceleration, against that without friction, that is one
RESTS = 1e-9  # a velocity (rad/s, m/s) that is none


@dataclass(frozen=True)
class Holding:
    """Whether a mechanism that is let go stays where it is.

    Attributes:
        holds: whether it does. A body that rolls or tips moves although nothing slips: then all margins are positive.
        forces: what each friction that touches holds (N, N m), or would have to hold.
        most: what it can hold with the normal force that it has then.
        state: where.
    """

    holds: bool
    forces: dict[str, float]
    most: dict[str, float]
    state: State

    @property
    def margins(self) -> dict[str, float]:
        """The share of each friction that is left, 1 − force/most: 1 if it is not needed, negative if it slips."""
        return {name: _margin(force, self.most[name]) for name, force in self.forces.items()}

    @property
    def margin(self) -> float:
        """The least of them."""
        return min(self.margins.values(), default=0.0)

    def __str__(self) -> str:
        parts = [
            f"{name} {force:.6g} of {self.most[name]:.6g}, margin {self.margins[name]:.3g}"
            for name, force in self.forces.items()
        ]
        moves = "slips" if self.margin < 0 else "moves, though nothing slips"
        return "; ".join(["holds" if self.holds else moves, *parts])


def _margin(force: float, most: float) -> float:
    if force == 0.0:
        return 1.0
    return 1.0 - force / most if most > 0.0 else -np.inf


@public
def holding(
    model: Model | Dynamics,
    at: State | HasState | Mapping[str, Any] | Trajectory | None = None,
    *,
    parameters: Mapping[str, float] | None = None,
) -> Holding:
    """Whether friction holds a mechanism that is let go at rest, and with how much to spare.

    Args:
        model: the mechanism, or its compiled equations.
        at: a state, or joint coordinates by name, completed by assembly; a run, at its end; default: the model's own
            start. Velocities do not count.
        parameters: values to use instead of the model's.

    Raises:
        DalembertError: the model has no friction that sticks, a drive moves it, or a contact is not where it can be.

    Example:
        model = da.library.pendulum(angle=0.1)
        model.friction("rub", "pivot", coefficient=0.3, radius=0.5)
        print(da.holding(model).margins)
    """
    d = model if isinstance(model, Dynamics) else cached_dynamics(model, "auto", "relative")
    if not d.flat.frictions:
        raise DalembertError(
            f"holding: {d.flat.name!r} has no friction that sticks.  Fix: model.friction(…), or da.equilibrium(model)"
        )
    if not d.follows_switches:
        raise DalembertError(
            f"holding: formulation {d.formulation.name!r} cannot handle friction that sticks.  Fix: da.holding(model)"
        )
    state = _reference(d, at, dict(parameters or {}))
    q, _ = state.to(d.coordinates)
    values = {**state.parameters, **dict(parameters or {})}
    x, t = np.concatenate([q, np.zeros(d.nv + 1)]), state.time
    _check_drives(d, t, x, values)
    if d.flat.contacts:
        begun = begin_contacts(d, t, x, values)
        if begun.trouble:
            raise DalembertError(f"holding: {begun.trouble}")
        values = begun.parameters
    values, trouble = settle_friction(d, t, x, values)
    if trouble:
        raise DalembertError(f"holding: {trouble}")
    du, _ = d.solve(q, x[d.nq : -1], t=t, parameters=values)
    loose = {d.flat.switches[name]: 0.0 for name in d.flat.frictions}
    free, _ = d.solve(q, x[d.nq : -1], t=t, parameters={**values, **loose, **_none(d)})
    holds = bool(np.abs(du).max(initial=0.0) <= MOVES * np.abs(free).max(initial=0.0))
    found = grips(d, t, x, values if holds else _stuck(d, values))
    if holds:
        # Where several share the load, some may give all they can.
        found |= {name: grip for name, grip in _slipping(d, values).items() if name not in found}
    here = State(t, q, np.zeros(d.nv), d.coordinates, values)
    forces, most = ({name: grip[k] for name, grip in found.items()} for k in range(2))
    return Holding(holds, forces, most, here)


def _reference(
    d: Dynamics, at: State | HasState | Mapping[str, Any] | Trajectory | None, parameters: dict[str, float]
) -> State:
    """Where it is let go."""
    if isinstance(at, Trajectory):
        run, last = at, {name: at.values(name)[-1] for name in ("time", "q", "u")}
        at = State(float(last["time"]), last["q"], last["u"], run.dynamics.coordinates, run.segments[-1][1])
    at = state_of(at)
    if not isinstance(at, State):
        return assemble_state(d.relative, dict(at or {}), {}, parameters, 0.0)
    if set(at.coordinates.flat.joints) != set(d.flat.joints):
        raise DalembertError("holding: the state is of a model with other joints.  Fix: at={joint: value}")
    return at


def _touching(d: Dynamics, values: dict[str, float]) -> list[str]:
    """Friction in joints and in contacts that are closed."""
    off = d.flat.off(values)
    return [name for name in d.flat.frictions if d.flat.constraints[name][0].touches not in off]


def _none(d: Dynamics) -> dict[str, float]:
    """Parameters of friction that is not there."""
    return {key: 0.0 for name in d.flat.frictions for key in d.flat.constraints[name][0].parameters()}


def _stuck(d: Dynamics, values: dict[str, float]) -> dict[str, float]:
    """The parameters with all friction that touches at rest."""
    return {**values, **_none(d), **{d.flat.switches[name]: 1.0 for name in _touching(d, values)}}


def _slipping(d: Dynamics, values: dict[str, float]) -> dict[str, Grip]:
    """What slips, with all its force, after an evaluation."""
    sizes = np.array(d.evaluation(values).friction.outputs)[: 2 * len(d.flat.frictions)].reshape(-1, 2)
    index = d.flat.frictions.index
    return {name: Grip(*map(float, sizes[index(name)])) for name in _touching(d, values)}


def _check_drives(d: Dynamics, t: float, x: np.ndarray, values: dict[str, float]) -> None:
    """What drives move does not rest."""
    if not d.rows:
        return
    rates = d.residuals(t, x[: d.nq], x[d.nq : -1], values).velocity
    off = d.flat.off(values)
    moving = [row.owner for row, rate in zip(d.rows, rates, strict=True) if row.owner not in off and abs(rate) > RESTS]
    if moving:
        raise DalembertError(f"holding: {moving[0]!r} moves, so nothing rests.  Fix: a drive that stands still")
