"""The call ``da.assemble``: one state, many at once, or all branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack, overload

from dalembert.analyses.assembly.assemble import Assembler, Start
from dalembert.analyses.assembly.assemble_branches import Branches, find_branches
from dalembert.analyses.assembly.assemble_many import States, assemble_many, samples_of
from dalembert.arguments import public
from dalembert.dynamics import Dynamics, cached_dynamics
from dalembert.dynamics.gaps import check_gaps, open_gaps
from dalembert.errors import DalembertError
from dalembert.model import Mechanism, Model, flatten
from dalembert.modular import Subsystem
from dalembert.modular.compiled_system import CompiledSystem
from dalembert.planar import Planar
from dalembert.planar.planar_names import POSITION, quantities
from dalembert.state import HasState, State, state_of
from dalembert.values import NUMBER, SEQUENCE

__all__ = ["assemble"]

Given = Model | Planar | Dynamics
Initial = Mapping[Any, Any] | Sequence[Mapping[Any, Any]] | None


class Ways(TypedDict, total=False):
    """Options of all kinds of assembly, see ``assemble``."""

    guess: Mapping[str, Any] | State | HasState | None
    locked: Sequence[str]
    weights: Mapping[str, float] | None
    parameters: Mapping[str, Any] | None
    time: float


class OneWay(Ways, total=False):
    """Options of an assembly that does not ask for all branches."""

    branches: None


@overload
def assemble(
    model: Given,
    initial: Initial = None,
    initial_rates: Initial = None,
    *,
    branches: Literal["all"],
    **ways: Unpack[Ways],
) -> Branches: ...
@overload
def assemble(
    model: Given, initial: Sequence[Mapping[Any, Any]], initial_rates: Initial = None, **ways: Unpack[OneWay]
) -> States: ...
@overload
def assemble(
    model: Given | Subsystem, initial: Initial = None, initial_rates: Initial = None, **ways: Unpack[OneWay]
) -> Any: ...
@public
def assemble(
    model: Model | Planar | Dynamics | Subsystem,
    initial: Initial = None,
    initial_rates: Initial = None,
    *,
    branches: Literal["all"] | None = None,
    guess: Mapping[str, Any] | State | HasState | None = None,
    locked: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
    parameters: Mapping[str, Any] | None = None,
    time: float = 0.0,
) -> State | States | Branches | dict[str, float]:
    """A state with the given values and all loops closed; several at once; or all branches.

    Args:
        model: the mechanism; or a ``da.Subsystem``, whose variables are found.
        initial: values that must hold exactly: coordinates by joint (rad, m; quaternions as four numbers, None
            where one of several is free), poses of bodies (quaternion and place), outputs, formulas such as
            ``"x(slider)"``, points ``("coupler", (x, y, z))``; of a planar mechanism ``"crank.angle"`` and the like.
            With one array for each name, or a list of dictionaries, there is one state for each entry.
        initial_rates: velocities by joint; the others follow, as small as the loops allow.
        branches: ``"all"`` finds every way in which the loops close; all freedoms must be given then.
        guess: where to start, instead of the reference configuration; it may be far off, and its values are not kept.
            Or a state.
        locked: joints and bodies that stay where they are at the beginning.
        weights: how much it costs to move a joint, by default 1: joints with large weights move less.
        parameters: values to use instead of the model's; arrays give several states.
        time: for drives.

    Returns:
        a ``State``; ``States`` for several; ``Branches``; the values of all variables of a subsystem, by name.

    Raises:
        ModelError: naming the joints that stay open and by how much, or the values that contradict the constraints.
        DalembertError: the position is beyond a limit or inside a rigid contact. Branches that are so are left out.

    Example:
        state = da.assemble(da.library.four_bar(), {"A": 1.0}, {"A": 2.0})
        angle, rate = state.joint("D")
    """
    if branches not in (None, "all"):
        raise DalembertError(f"branches must be 'all' or left out, got {branches!r}")
    if isinstance(model, Subsystem):
        if branches or guess is not None or locked or weights:
            raise DalembertError(
                f"subsystem {model.name!r} has variables, not joints: branches, guess, locked and weights are for "
                f"mechanisms.  Fix: initial={{…}} by variable, and guess({{…}}) of the subsystem"
            )
        return _subsystem(model, initial, initial_rates, parameters, time)
    guess = state_of(guess)
    if isinstance(model, Planar):
        planar = _PlanarNames(model)
        initial, guess = planar.named(initial), planar.named(guess)
        locked = planar.locked(locked)
        model = planar.model()
    dynamics = model.relative if isinstance(model, Dynamics) else cached_dynamics(model, "auto", "relative")
    more: dict[str, Any] = {"guess": guess, "locked": locked, "weights": weights or {}, "native": True}
    samples = samples_of(dynamics, initial, initial_rates, parameters)
    if samples is not None:
        if branches:
            raise DalembertError("branches='all' takes one set of values; got several")
        states = assemble_many(dynamics, samples, more, time)
        for i, state in enumerate(states if dynamics.flat.contacts else ()):
            check_gaps(f"assemble: state {i}", dynamics, state)
        return states
    values = dict(parameters or {})
    start = Start(_single(initial), _single(initial_rates), **more)
    assembler = Assembler(dynamics, values, time, start)
    if branches:
        return _allowed(dynamics, find_branches(assembler))
    state = assembler.run()
    check_gaps("assemble", dynamics, state)
    return state


def _allowed(dynamics: Dynamics, found: Branches) -> Branches:
    """The branches within all limits and contacts; the legend names those that are not."""
    beyond = {name: [gap for gap in open_gaps(dynamics, found[name]) if gap.is_entered] for name in found.names}
    kept = [i for i, name in enumerate(found.names) if not beyond[name]]
    if not kept:
        check_gaps("assemble: no branch is allowed, the nearest is not", dynamics, found[0])
    left_out = [f"{name} ({', '.join(sorted({gap.owner for gap in gaps}))})" for name, gaps in beyond.items() if gaps]
    return found.picked(kept, f"; beyond their limits: {', '.join(left_out)}") if left_out else found


def _single(given: Initial) -> Mapping[Any, Any]:
    return given if isinstance(given, Mapping) else {}


def _subsystem(
    subsystem: Subsystem, initial: Any, rates: Any, parameters: Mapping[str, Any] | None, time: float
) -> dict[str, float]:
    """Values of all variables that meet the invariants; what is given stays."""
    given: dict[str, float] = {}
    for part, end in ((initial, ""), (rates, ".d")):
        for key, value in dict(part or {}).items():
            if not isinstance(value, NUMBER):
                raise DalembertError(f"the initial value of {str(key)!r} must be a number, got {value!r}")
            given[f"{getattr(key, 'name', key)}{end}"] = float(value)
    system = CompiledSystem(subsystem.equations(), None, given).kept()
    y = system.start(float(time), given, system.parameters(dict(parameters or {})))
    return {name: float(value) for name, value in zip(system.state, y, strict=True)}


class _PlanarNames:
    """Names of a planar mechanism's quantities as its model knows them."""

    def __init__(self, planar: Planar):
        self.planar = planar
        self.asked: dict[str, None] = {}

    def named(self, given: Any) -> Any:
        if isinstance(given, SEQUENCE):
            return [self.named(one) for one in given]
        items: Any = getattr(given, "items", None)
        return given if items is None else {self._name(key): value for key, value in items()}

    def locked(self, names: Any) -> Any:
        """Joints that close a loop have no coordinate of their own here: their quantity is locked."""
        return [self._name(name) for name in names] if isinstance(names, SEQUENCE) else names

    def _name(self, key: Any) -> Any:
        name = getattr(key, "name", key)
        known = quantities(self.planar)
        joint = next((one for one in self.planar.joints if one.name == name), None)
        if joint is not None:
            own = [key for key in joint.quantities() if known[f"{name}.{key}"] == POSITION]
            if Mechanism.nominal(flatten(self.planar.to_model())).joint(joint.name).joint.nq == len(own):
                return name
            name = f"{joint.name}.{own[0]}"
        if name in known:
            self.asked[name] = None
        return name

    def model(self) -> Model:
        return self.planar.prescribed_model(self.asked, ()) if self.asked else self.planar.to_model()
