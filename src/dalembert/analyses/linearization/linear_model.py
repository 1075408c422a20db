"""A linear model with names: ẋ = A x + B w, y = C x + D w, and what it says about stability."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dalembert.analyses.linearization.spectrum import Spectrum, spectrum
from dalembert.arguments import public_methods
from dalembert.errors import DalembertError, index_of
from dalembert.values import NO_NUMBER

if TYPE_CHECKING:
    from dalembert.state import State

__all__ = ["LinearModel", "Mode", "SecondOrder", "Source"]

NOTHING = 1e-9  # of a matrix, relative to its largest entry: what should not matter does not


class Source(Protocol):
    """Where a linear model comes from: what it can say beyond its matrices."""

    parameters: dict[str, float]

    def again(self, parameters: dict[str, float]) -> LinearModel:
        """The same with other values of parameters."""
        ...

    def slope(self, parameter: str) -> np.ndarray:
        """∂A/∂p."""
        ...

    def shape(self, vector: np.ndarray) -> dict[str, complex]:
        """All coordinates, dependent ones too, by name, for a vector of states."""
        ...

    def bodies(self, vector: np.ndarray) -> dict[str, float]:
        """Share of each body in the kinetic energy, by name."""
        ...


@dataclass(frozen=True)
class Mode:
    """One way to move: x(t) = vector · exp(λ t), or its real part.

    Attributes:
        eigenvalue: λ (1/s), with an imaginary part that is not negative.
        vector: of states, the largest entry 1.
        states: names of its entries.
        coordinates: the same for all coordinates, dependent ones too.
        participation: share of each state, from left and right eigenvectors; sums to 1.
        bodies: share of each body in the kinetic energy; empty if nothing moves, as in a neutral position.
    """

    eigenvalue: complex
    vector: np.ndarray
    states: tuple[str, ...]
    coordinates: dict[str, complex]
    participation: dict[str, float]
    bodies: dict[str, float]

    @property
    def frequency(self) -> float:
        """Of the oscillation (Hz); zero if there is none."""
        return float(self.eigenvalue.imag / (2 * np.pi))

    @property
    def damping(self) -> float:
        """−Re λ / |λ|: 1 or −1 where nothing oscillates, 0 for λ = 0."""
        size = abs(self.eigenvalue)
        return float(-self.eigenvalue.real / size) + 0.0 if size else 0.0

    @property
    def kind(self) -> str:
        """What it does, in a word or two."""
        value = self.eigenvalue
        if value == 0:
            return "neutral"
        how = "oscillates" if value.imag else "decays" if value.real < 0 else "grows"
        if not value.imag:
            return how
        trend = "decays" if value.real < 0 else "grows" if value.real > 0 else ""
        return f"{how} and {trend}" if trend else how

    def __str__(self) -> str:
        value = f"{self.eigenvalue.real:.6g}"
        if self.eigenvalue.imag:
            value += f" ± {self.eigenvalue.imag:.6g}i"
        leading = sorted(self.participation.items(), key=lambda entry: -entry[1])[:3]
        return f"λ = {value}: {self.kind}; " + ", ".join(f"{name} {share:.0%}" for name, share in leading)


@dataclass(frozen=True)
class SecondOrder:
    """M q̈ + (C0 + v C1) q̇ + (K0 + v K1 + v² K2) q = f  for small motions q next to a steady one.

    Attributes:
        coordinates: names of q.  parameter: name of v, if there is one.
        gravity: the parameter that K0 was divided by, if any.
    """

    coordinates: tuple[str, ...]
    M: np.ndarray
    C0: np.ndarray
    C1: np.ndarray
    K0: np.ndarray
    K1: np.ndarray
    K2: np.ndarray
    parameter: str | None = None
    gravity: str | None = None

    def __iter__(self) -> Any:
        """M, C1, K0, K2, as tables of bicycles have them."""
        return iter((self.M, self.C1, self.K0, self.K2))


@public_methods
@dataclass(frozen=True)
class LinearModel:
    """Small motions next to a reference:  ẋ = A x + B w,  y = C x + D w.

    Attributes:
        states: names; independent coordinates, then velocities with ``.d`` behind the name.
        inputs, outputs: names.
        A, B, C, D: matrices.
        rates: ẋ of the reference itself; a linear model neglects it where the reference is not an equilibrium.
        kind: ``equilibrium``, ``steady motion`` or ``no equilibrium: …``.
        mass: mass matrix of the independent velocities.
        reference: the state it holds at.
        residual: of subsystems, invariants that least squares cannot meet, by row: what is left of them per unit of
            independent velocities; with ``nearby`` behind the name, how fast that grows away from the reference; with
            ``at order 0``, by how much the reference itself is open.

    Example:
        linear = da.linearize(da.library.cart_pendulum(), {"hinge": 0.0}, inputs=["rail"], outputs=["hinge"])
        response = linear.frequency_response([1.0, 10.0], "rail", "hinge")
    """

    name: str
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    rates: np.ndarray
    kind: str
    mass: np.ndarray
    reference: State | dict[str, float] | None = None
    residual: dict[str, float] = field(default_factory=lambda: {})
    source: Source | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        counts = f"{len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        return f"<LinearModel of {self.name!r}: {counts}; {self.kind}>"

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.states)} states, {self.kind}"]
        return "\n".join(lines + [f"  {mode}" for mode in self.modes()])

    # Stability

    @cached_property
    def spectrum(self) -> Spectrum:
        """Eigenvalues with their right and left vectors, as numbers."""
        return spectrum(self.A)

    def eigenvalues(self, **parameters: Any) -> np.ndarray:
        """λ (1/s) by increasing real parts; zeros of motions that nothing holds back are exact zeros.

        Args:
            parameters: other values; one list of them gives a row for each, e.g. ``eigenvalues(v=range(11))``.
        """
        if not parameters:
            return self.spectrum.values
        lists = {name: list(values) for name, values in parameters.items() if np.ndim(values)}
        if len(lists) > 1:
            raise DalembertError(f"eigenvalues: one list of values at a time, got {', '.join(lists)}")
        if not lists:
            return self.again(parameters).eigenvalues()
        name, values = next(iter(lists.items()))
        return np.array([self.again({**parameters, name: float(value)}).eigenvalues() for value in values])

    def modes(self) -> list[Mode]:
        """All modes, one for each pair of conjugate eigenvalues, by increasing real parts."""
        found: list[Mode] = []
        for value, right, left in self.spectrum.modes():
            size = right[np.argmax(np.abs(right))]
            share = np.abs(left.conj() * right)
            # Left and right vectors of a defective eigenvalue, such as drifting away, may have no state in common.
            share = share / share.sum() if share.sum() > NOTHING else np.abs(right) / np.abs(right).sum()
            vector = right / size
            coordinates = self.source.shape(vector) if self.source else dict(zip(self.states, vector, strict=True))
            bodies = self.source.bodies(vector) if self.source else {}
            states = dict(zip(self.states, map(float, share), strict=True))
            found.append(Mode(value, vector, self.states, coordinates, states, bodies))
        return found

    @property
    def stable(self) -> bool:
        """True if every eigenvalue has a negative real part; zeros of neutral motions count as not stable."""
        return bool(np.all(np.real(self.eigenvalues()) < 0))

    def sensitivity(self, *parameters: str) -> dict[str, np.ndarray]:
        """∂λ/∂p of every eigenvalue, in the order of ``eigenvalues``, by parameter; exact.

        The independent coordinates and velocities of the reference follow the parameter as the model's start does, or
        stay; dependent ones follow the constraints. NaN where an eigenvalue is defective.
        """
        if self.source is None:
            raise DalembertError("sensitivity: this linear model has no parameters")
        return {name: self.spectrum.slopes(self.source.slope(name)) for name in parameters}

    def again(self, parameters: dict[str, float]) -> LinearModel:
        """The same linearization with other values of parameters."""
        if self.source is None:
            raise DalembertError("this linear model has no parameters")
        return self.source.again({**self.source.parameters, **parameters})

    # Other forms

    def reduced(self, *keep: str) -> LinearModel:
        """Without coordinates on which neither motion nor outputs depend: where a vehicle is and where it heads.

        Args:
            keep: names of states to keep instead; what they do must not depend on the others.
        """
        return self._reduced(keep, np.abs(self.C) > NOTHING * np.abs(self.C).max(initial=0.0))

    def without(self, *states: str) -> LinearModel:
        """The same with the effect of some states ignored, although others may depend on them.

        For coordinates that cannot matter but do because data contradict each other, such as the heading of a vehicle
        on level ground whose joints do not close.
        """
        dropped = {self.number(name) for name in states}
        return self.picked([i for i in range(len(self.states)) if i not in dropped])

    def _reduced(self, keep: Sequence[str], seen: np.ndarray) -> LinearModel:
        depends = self.spectrum.A != 0
        kept = [self.number(name) for name in keep] or list(range(len(self.states)))
        if keep:
            others = [j for j in range(len(self.states)) if j not in kept]
            fed = [(i, j) for i in kept for j in others if depends[i, j]]
            if fed:
                i, j = fed[0]
                raise DalembertError(f"reduced: {self.states[i]} depends on {self.states[j]}, which would be dropped")
        elif len(self.mass):
            # What velocities and outputs depend on, and what that depends on, and so on.
            needed = {*self._velocities, *np.flatnonzero(seen.any(axis=0)).tolist()}
            while more := {j for i in needed for j in np.flatnonzero(depends[i]).tolist()} - needed:
                needed |= more
            kept = sorted(needed)
        return self.picked(kept)

    def picked(self, kept: list[int]) -> LinearModel:
        at, source = np.ix_(kept, kept), self.source
        y = [self._velocities.index(i) for i in kept if i in self._velocities]
        mass = np.linalg.inv(np.linalg.inv(self.mass)[np.ix_(y, y)]) if y and self.mass.size else self.mass[:0, :0]
        return replace(
            self, states=tuple(self.states[i] for i in kept), A=self.A[at], B=self.B[kept], C=self.C[:, kept],
            rates=self.rates[kept], mass=mass, source=None if source is None else _Part(source, self, kept),
        )  # fmt: skip

    @cached_property
    def _velocities(self) -> list[int]:
        return list(range(len(self.states) - len(self.mass), len(self.states)))

    def number(self, name: str) -> int:
        return index_of("unknown state", name, self.states)

    def second_order(
        self, speed: str | None = None, *, coordinates: Sequence[str] = (), gravity: str | None = None
    ) -> SecondOrder:
        """M, C and K of M q̈ + C q̇ + K q = f, as polynomials of a parameter such as the speed.

        Args:
            speed: parameter v in which C is linear and K quadratic; that is checked.
            coordinates: names of q; default: all that matter (see ``reduced``).
            gravity: parameter to whose multiples K0 belongs; K0 is divided by its value.
        """
        if speed is None:
            names, M, C, K = self._second_order(coordinates)
            zero = np.zeros_like(M)
            return SecondOrder(names, M, C, zero, K, zero, zero)
        parts = [self.again({speed: v})._second_order(coordinates) for v in (0.0, 1.0, 2.0, 3.0)]
        names = parts[1][0]
        if any(part[0] != names for part in parts):
            raise DalembertError(
                f"second_order: the independent coordinates change with {speed}.  Fix: name them, coordinates=[…]"
            )
        M, C, K = ([part[1] for part in parts], [part[2] for part in parts], [part[3] for part in parts])
        C0, C1, C2 = _parabola(C)
        K0, K1, K2 = _parabola(K)
        left = [M[0] - M[i] for i in (1, 2, 3)] + [C2, C[3] - C0 - 3 * C1, K[3] - K0 - 3 * K1 - 9 * K2]
        sizes = [np.abs(M[0]).max()] * 3 + [np.abs(C[3]).max(initial=1e-300)] * 2 + [np.abs(K[3]).max()]
        if any(np.abs(part).max() > 1e-8 * size for part, size in zip(left, sizes, strict=True)):
            raise DalembertError(
                f"second_order: M is not constant, or C and K are not polynomials of {speed} of degree 1 and 2"
            )
        if gravity is not None:
            if self.source is None or gravity not in self.source.parameters:
                raise DalembertError(f"second_order: unknown parameter {gravity!r}")
            K0 = K0 / self.source.parameters[gravity]
        return SecondOrder(names, M[0], C0, C1, K0, K1, K2, speed, gravity)

    def _second_order(self, coordinates: Sequence[str]) -> tuple[tuple[str, ...], np.ndarray, np.ndarray, np.ndarray]:
        small = self._reduced((), np.zeros(self.C.shape, dtype=bool))
        if not len(small.mass):
            raise DalembertError("second_order: this linear model has no mass matrix; its state is not minimal")
        names = tuple(coordinates) or small.states[: len(small.states) - len(small.mass)]
        if not names:
            raise DalembertError("second_order: no coordinate matters here")
        at, rates = [small.number(name) for name in names], [small.number(f"{name}.d") for name in names]
        others = [i for i in range(len(small.states)) if i not in at + rates]
        fed = np.abs(small.A[np.ix_(rates, others)]).max(initial=0.0)
        if fed > NOTHING * np.abs(small.A).max():
            raise DalembertError(
                f"second_order: {', '.join(names)} depend on {', '.join(small.states[i] for i in others)}"
            )
        y = [small._velocities.index(i) for i in rates]
        M = np.linalg.inv(np.linalg.inv(small.mass)[np.ix_(y, y)])
        return names, M, -M @ small.A[np.ix_(rates, rates)], -M @ small.A[np.ix_(rates, at)]

    def to_scipy(self) -> Any:
        """``scipy.signal.StateSpace``."""
        import scipy.signal

        made: Any = scipy.signal.StateSpace
        return made(*self._proper())

    def to_control(self) -> Any:
        """``control.StateSpace`` with names; needs the package ``control`` (pip install dalembert[control])."""
        try:
            control: Any = importlib.import_module("control")  # an extra: its types are there or not
        except ImportError:
            raise DalembertError("to_control needs python-control.  Fix: pip install dalembert[control]") from None
        self._proper()
        names = {"states": list(self.states), "inputs": list(self.inputs), "outputs": list(self.outputs)}
        return control.ss(self.A, self.B, self.C, self.D, **names)

    def _proper(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        if not self.inputs or not self.outputs:
            raise DalembertError("a state space for control needs inputs and outputs.  Fix: linearize(…, inputs=[…])")
        return self.A, self.B, self.C, self.D

    def frequency_response(self, omega: Any, input: str | None = None, output: str | None = None) -> np.ndarray:
        """C (iω − A)⁻¹ B + D at angular frequencies ω (rad/s); one entry, or a matrix for each ω.

        Args:
            omega: one or many.
            input, output: names; both or neither.
        """
        A, B, C, D = self._proper()
        omega, unit = _frequencies(omega), np.eye(len(A))
        each: list[Any] = []
        for w in omega.reshape(-1):
            try:
                each.append(C @ np.linalg.solve(1j * w * unit - A, B) + D)
            except np.linalg.LinAlgError:
                raise DalembertError(f"the response at ω = {w:g} rad/s is infinite: iω is an eigenvalue") from None
        found = np.array(each, dtype=complex).reshape(*omega.shape, *D.shape)
        if input is None and output is None:
            return found
        if input is None or output is None:
            raise DalembertError("frequency_response: give input and output, or neither")
        i, j = index_of("unknown output", output, self.outputs), index_of("unknown input", input, self.inputs)
        return found[..., i, j]

    # Pictures

    def plot_modes(self, path: str | Path | None = None) -> Any:
        """A table of eigenvectors: for each mode and coordinate an arrow with its size and phase."""
        from dalembert.view import with_file
        from dalembert.view.linear_plots import arrows

        return with_file(arrows(self.name, self.modes(), self._labels()), path)

    def animate(self, mode: int, path: str | Path) -> Path:
        """One self-contained HTML file in which the mechanism moves along a mode, growth and decay left out.

        Args:
            mode: its number in ``modes()``.
        """
        found = self.modes()
        motion = getattr(self.source, "motion", None)
        if motion is None:
            raise DalembertError("animate: only linear models of mechanisms have bodies to move")
        if not -len(found) <= mode < len(found):
            raise DalembertError(f"animate: there are modes 0 to {len(found) - 1}, got {mode}")
        chosen = found[mode]
        facts = {"mode": str(chosen), "reference": self.kind}
        return motion(chosen.vector, chosen.eigenvalue).animate(path, facts)

    def _labels(self) -> dict[str, str]:
        """Names of outputs that are nothing but a state."""
        found: dict[str, str] = {}
        for name, row in zip(self.outputs, self.C, strict=True):
            places = np.flatnonzero(np.abs(row) > NOTHING)
            if len(places) == 1 and abs(row[places[0]] - 1) < NOTHING:
                found[self.states[places[0]]] = name
        return found

    def plot_response(self, omega: Any, input: str, output: str, path: str | Path | None = None) -> Any:
        """Magnitude and phase over the angular frequency."""
        from dalembert.view import with_file
        from dalembert.view.linear_plots import bode

        omega = _frequencies(omega).reshape(-1)
        return with_file(bode(omega, self.frequency_response(omega, input, output), input, output), path)


def _frequencies(omega: Any) -> np.ndarray:
    try:
        found = np.asarray(omega, dtype=float)
    except NO_NUMBER:
        found = np.array(np.nan)
    if not np.isfinite(found).all():
        raise DalembertError(f"omega must be angular frequencies (rad/s), finite numbers, got {omega!r}")
    return found


class _Part:
    """The source of some of the states."""

    def __init__(self, source: Source, whole: LinearModel, kept: list[int]):
        self._source, self._whole, self._kept = source, whole, kept
        self.parameters = source.parameters

    def _full(self, vector: np.ndarray) -> np.ndarray:
        full = np.zeros(len(self._whole.states), dtype=complex)
        full[self._kept] = vector
        return full

    def again(self, parameters: dict[str, float]) -> LinearModel:
        """The same states of the whole."""
        whole = self._source.again(parameters)
        return whole.picked([whole.number(self._whole.states[i]) for i in self._kept])

    def slope(self, parameter: str) -> np.ndarray:
        """∂A/∂p of the part."""
        return self._source.slope(parameter)[np.ix_(self._kept, self._kept)]

    def shape(self, vector: np.ndarray) -> dict[str, complex]:
        """As of the whole, dropped states at rest."""
        return self._source.shape(self._full(vector))

    def bodies(self, vector: np.ndarray) -> dict[str, float]:
        """As of the whole."""
        return self._source.bodies(self._full(vector))

    def __getattr__(self, name: str) -> Any:
        if name != "motion":
            raise AttributeError(name)
        motion = getattr(self._source, name)

        def moved(vector: np.ndarray, eigenvalue: complex) -> Any:
            return motion(self._full(vector), eigenvalue)

        return moved


def _parabola(values: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients of the parabola through values at 0, 1, 2."""
    first, second = values[1] - values[0], (values[2] - 2 * values[1] + values[0]) / 2
    return values[0], first - second, second
