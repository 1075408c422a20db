"""How a run is made: the options that ``simulate``, ``simulate_many``, ``compare`` and the command line share."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypedDict, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from dalembert.analyses.assembly.assemble import assemble_state
from dalembert.analyses.simulation.choose_integrator import Choice, choose_integrator
from dalembert.arguments import public, public_class
from dalembert.coordinates import CoordinateOptions
from dalembert.dynamics import Dynamics, cached_dynamics
from dalembert.errors import DalembertError, did_you_mean
from dalembert.formulations import Formulation
from dalembert.integrators import Integrator
from dalembert.model import Model
from dalembert.state import HasState, State, check_joints, state_of
from dalembert.values import MAPPING, NUMBER, is_positive

__all__ = ["DEFAULT_OUTPUTS", "MethodOptions", "Options", "RunOptions", "public_with"]

DEFAULT_OUTPUTS, MOST_OUTPUTS = 1000, 10_000_000
LIVE_METHODS = ("dopri8", "tsit5", "rk4", "euler", "radau")  # those that pages without Python have

F = TypeVar("F", bound=Callable[..., Any])


class MethodOptions(TypedDict, total=False):
    """Options of all runs of a comparison, as keyword arguments; see ``Options``."""

    integrator: str | Integrator
    stabilization: str
    baumgarte: float | tuple[float, ...] | None
    drift: float | None
    rtol: float | None
    atol: float | None
    step: float | None
    output_step: float | None
    accuracy: float | None
    certify: bool
    initial: Mapping[str, Any] | State | HasState | None
    initial_rates: Mapping[str, Any] | None
    parameters: Mapping[str, Any] | None


class RunOptions(MethodOptions, total=False):
    """Options of a run, as keyword arguments; see ``Options``."""

    formulation: str | Formulation
    coordinates: str | CoordinateOptions
    start: float | None


@public_class
@dataclass(frozen=True)
class Options:
    """How a run is made. Every field is also a keyword argument of ``simulate`` and ``simulate_many``.

    Attributes:
        formulation, coordinates, integrator: by name; ``auto`` chooses, and the result names what it chose. Or
            objects with their own options, such as ``da.Generalized(sequence="zxz")``.
        stabilization: how the motion stays on the constraints: ``projection`` after each step by the shortest way in
            the metric of the mass matrix, ``stages`` and toward them before every evaluation (for singular positions),
            ``partition`` along the best dependent coordinates, ``baumgarte``, ``none``;
            ``index-1`` and ``ggl`` let ``radau`` solve the differential-algebraic system itself, ``index-2`` that of
            the formulation ``canonical``.
        baumgarte: α = β of Baumgarte's stabilization (1/s), or both, (α, β); 10 by default. Of a
            subsystem also (α, β, γ), γ for invariants of order 1.
        drift: project states only where constraints are violated by more than this (m or rad, and per s), instead of
            after every step. With ``baumgarte``: Baumgarte's method below this, partitioning above (Park and Haug).
        rtol, atol: local error of adaptive integrators.
        step: step of fixed-step integrators, longest step of adaptive ones (s).
        output_step: output interval (s); default: a thousandth of the duration, a hundredth in ``simulate_many``.
        accuracy: error of the motion that is allowed at its end, relative to its size, by which the certificate judges;
            default: 10⁴ rtol, 1e-6 with the default tolerance, 1e-3 from rtol 1e-7 to 1e-5 and for fixed steps.
        certify: False: the run is not judged, which saves the companion runs that estimate its error.
        initial, initial_rates: joint coordinates and velocities by name; assembly completes them. ``initial`` may be a
            ``State`` or an equilibrium instead, or a run, from whose end this one continues.
        parameters: values to use instead of the model's, and of those that a state or run in ``initial`` has.
        start: first time (s); default: that of the state or the end of the run in ``initial``, otherwise 0.

    Example:
        options = da.Options(integrator="radau", rtol=1e-8)
        run = da.simulate(da.library.pendulum(), 1.0, options=options)
    """

    formulation: str | Formulation = "auto"
    coordinates: str | CoordinateOptions = "auto"
    integrator: str | Integrator = "auto"
    stabilization: str = "auto"
    baumgarte: float | tuple[float, ...] | None = None
    drift: float | None = None
    rtol: float | None = None
    atol: float | None = None
    step: float | None = None
    output_step: float | None = None
    accuracy: float | None = None
    certify: bool = True
    initial: Mapping[str, Any] | State | HasState | None = None
    initial_rates: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] | None = None
    start: float | None = None

    @classmethod
    def of(cls, options: Options | None, given: Mapping[str, Any], kind: type[Any]) -> Options:
        """Those of an object, changed by keyword arguments, which must be among those of ``kind``.

        The time and the parameters of a state or run in ``initial`` hold where no others are given.
        """
        for name in given:
            if name not in kind.__annotations__:
                question = did_you_mean(name, kind.__annotations__, form=repr)
                raise TypeError(f"unexpected keyword argument {name!r}; {question}".removesuffix("; "))
        if not isinstance(options, Options | None):
            raise DalembertError(f"options must be da.Options(…), got {options!r}")
        found = replace(options or cls(), **given)
        begin = state_of(found.initial)
        if not isinstance(begin, State):
            return found
        start = begin.time if found.start is None else found.start
        values = {**_lasting(begin), **(found.parameters or {})}
        return replace(found, initial=begin, start=start, parameters=values)

    @property
    def first(self) -> float:
        """The first time (s)."""
        return 0.0 if self.start is None else self.start

    def __post_init__(self) -> None:
        if self.accuracy is not None and not is_positive(self.accuracy):
            raise DalembertError(f"accuracy must be a positive number, relative to the motion, got {self.accuracy!r}")

    def times(self, duration: float, outputs: int) -> np.ndarray:
        """Times of outputs: every ``output_step``, by default this many, and the end."""
        if not is_positive(duration):
            raise DalembertError(f"duration must be a positive number of seconds, got {duration!r}")
        step = duration / outputs if self.output_step is None else self.output_step
        if not is_positive(step):
            raise DalembertError(f"output_step must be a positive number of seconds, got {step!r}")
        count = math.floor(duration / step * (1 + 1e-12))
        if count > MOST_OUTPUTS:
            fix = "Fix: a longer output_step"
            raise DalembertError(f"{count} outputs asked for, at most {MOST_OUTPUTS} are kept.  {fix}")
        times = self.first + step * np.arange(count + 1)
        if times[-1] < self.first + duration * (1 - 1e-12):
            times = np.append(times, self.first + duration)
        times[-1] = self.first + duration
        return times

    def equations(self, model: Model | Dynamics) -> Dynamics:
        """The equations of a model, or those that were compiled before."""
        if not isinstance(model, Dynamics):
            return cached_dynamics(model, self.formulation, self.coordinates)
        if (self.formulation, self.coordinates) != ("auto", "auto"):
            raise DalembertError("compiled equations have their formulation and coordinates already; leave both out")
        return model

    def choice(self, dynamics: Dynamics) -> Choice:
        """The integrator and the stabilization for these equations."""
        numbers = {"rtol": self.rtol, "atol": self.atol, "step": self.step}
        return choose_integrator(dynamics, self.integrator, numbers, self.stabilization, self.baumgarte, self.drift)

    def state(self, dynamics: Dynamics) -> State:
        """Where the run starts: assembled, unless it was given."""
        initial = state_of(self.initial)
        if isinstance(initial, State):
            check_joints("initial", initial, dynamics.flat)
            return initial
        wanted = (initial, self.initial_rates, self.parameters)
        asked = (self.first, *map(_in_numbers, wanted))
        before = _BEGUN.get(dynamics)
        if before is not None and before[0] == asked and None not in asked:
            state = before[1]
        else:
            state = assemble_state(dynamics.relative, *wanted, self.first)
            _BEGUN[dynamics] = asked, state
        return replace(state, q=state.q.copy(), u=state.u.copy(), parameters=dict(state.parameters))

    def recorded(self, choice: Choice, duration: float) -> str:
        """How a run is made, as text that is kept with it."""

        def plain(values: Mapping[str, Any] | State | None) -> Any:
            if values is None or isinstance(values, State):
                return {} if values is None else None
            return {str(name): np.asarray(value, dtype=float).reshape(-1).tolist() for name, value in values.items()}

        def method(integrator: Any) -> Any:
            if integrator is None or integrator.name not in LIVE_METHODS:
                return None
            return {"name": integrator.name, **asdict(integrator)}

        return json.dumps(
            {
                "duration": duration, "start": self.first, "output_step": self.output_step,
                "method": method(choice.method), "fallback": method(choice.fallback),
                "stabilization": self.stabilization, "baumgarte": self.baumgarte, "drift": self.drift,
                "accuracy": self.accuracy,
                "initial": plain(state_of(self.initial)), "initial_rates": plain(self.initial_rates),
            }
        )  # fmt: skip

    def __str__(self) -> str:
        """What is not chosen by itself, in words: integrator, tolerances, stabilization."""
        named = isinstance(self.integrator, str)
        words = [f"{self.integrator} integrator" if named else repr(self.integrator)]
        words += [f"{name} {getattr(self, name):g}" for name in ("rtol", "atol", "step") if getattr(self, name)]
        alone = self.baumgarte is None
        words.append(f"{self.stabilization} stabilization" if alone else f"baumgarte {self.baumgarte}")
        return ", ".join(words)


# The last start of each of the equations that was asked for in numbers: it is assembled once.
_BEGUN: WeakKeyDictionary[Dynamics, tuple[tuple[Any, ...], State]] = WeakKeyDictionary()


def _in_numbers(values: Any) -> tuple[Any, ...] | None:
    """Names and numbers; None if there is anything else."""
    if not values:
        return ()
    if not isinstance(values, MAPPING) or not all(isinstance(value, NUMBER) for value in values.values()):
        return None
    return tuple(values.items())


def _lasting(state: State) -> dict[str, float]:
    """Parameters that were given, or that events of the model changed. Where contacts rest and friction sticks is found
    anew."""
    flat = state.coordinates.flat
    by_events = {name for event, _ in flat.events.values() for name in event.switch}
    found_anew = {switch for name, switch in flat.switches.items() if name not in by_events}
    found_anew |= {f"{name}.{part}" for name in flat.frictions for part in ("slip", "force")}
    return {name: value for name, value in state.parameters.items() if name not in found_anew}


def public_with(kind: type[Any]) -> Callable[[F], F]:
    """A public call with the options of ``kind``, listed one by one in its signature and docstring, for ``help`` and
    the reference: in the place of a line that begins with ``…:``, but for those that the docstring explains itself.
    """

    def decorate(call: F) -> F:
        function = cast(F, public(call))
        signature = inspect.signature(function)
        listed = [
            inspect.Parameter(entry.name, inspect.Parameter.KEYWORD_ONLY, default=entry.default, annotation=entry.type)
            for entry in fields(Options)
            if entry.name in kind.__annotations__
        ]
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        function.__signature__ = signature.replace(parameters=[*own, *listed])  # type: ignore[attr-defined]
        text = inspect.getdoc(function) or ""
        explained = {name for names, _ in _explained(text) for name in names}
        lines: list[str] = []
        for names, meaning in _explained(inspect.getdoc(Options) or ""):
            names = [name for name in names if name in kind.__annotations__ and name not in explained]
            lines += [f"    {', '.join(names)}: {meaning}"] if names else []
        function.__doc__ = re.sub(r"^    …:.*$", lambda _: "\n".join(lines), text, flags=re.MULTILINE)
        return function

    return decorate


def _explained(docstring: str) -> list[tuple[list[str], str]]:
    """Names and meaning of each argument or attribute of a docstring."""
    found = re.findall(r"^    (\w[\w, ]*): ((?:.|\n        )*)", docstring, flags=re.MULTILINE)
    return [(names.split(", "), meaning) for names, meaning in found]
