"""What a sweep keeps of each run: formulas over time, their extremes, and whatever a function makes of a trajectory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.dynamics.outputs import find_outputs, formula_kernel
from dalembert.errors import DalembertError
from dalembert.expressions import reference, references
from dalembert.trajectory import Batch
from dalembert.values import DICT, MAPPING, SEQUENCE

__all__ = ["Outputs", "gathered", "numbers_of", "reason_of"]


def _last(y: np.ndarray) -> np.ndarray:
    return y[:, -1]


def _rms(y: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(y**2, axis=1))


REDUCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "first": lambda y: y[:, 0],
    "final": _last,
    "max": lambda y: y.max(axis=1),
    "min": lambda y: y.min(axis=1),
    "mean": lambda y: y.mean(axis=1),
    "rms": _rms,
    "range": lambda y: y.max(axis=1) - y.min(axis=1),
}


def reason_of(error: Exception) -> str:
    """Why a sample failed, in words."""
    return str(error) if isinstance(error, DalembertError) else f"{type(error).__name__}: {error}"


@dataclass
class Outputs:
    """Names, and how each is computed.

    Attributes:
        series: (word, text) by name: a formula, reduced over time by a word, or whole where the word is empty.
        functions: of a trajectory, by name.
    """

    series: dict[str, tuple[str, str]]
    functions: dict[str, Callable[[Any], Any]]
    _made: tuple[Any, Any] | None = field(default=None, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"series": self.series, "functions": self.functions, "_made": None}

    @classmethod
    def read(cls, dynamics: Dynamics, given: Any) -> Outputs:
        """What the caller asked for; the model's outputs, or the coordinates of all joints, if nothing."""
        if given is None:
            names: list[str] = list(dynamics.flat.outputs) or _joints(dynamics)
            given = {name: name for name in names}
        if isinstance(given, str) or callable(given):
            given = [given]
        if isinstance(given, SEQUENCE):
            given = {one if isinstance(one, str) else getattr(one, "__name__", "value"): one for one in given}
        if not isinstance(given, MAPPING) or not given:
            raise DalembertError(f"outputs must be a list of names and formulas, or a dictionary, got {given!r}")
        series: dict[str, tuple[str, str]] = {}
        functions: dict[str, Callable[[Any], Any]] = {}
        for name, what in given.items():
            if callable(what):
                functions[str(name)] = what
            elif isinstance(what, str):
                series[str(name)] = _split(what)
            else:
                raise DalembertError(f"outputs: {name!r} must be a formula or a function of a run, got {what!r}")
        found = cls(series, functions)
        found._kernel(dynamics)
        return found

    def _kernel(self, dynamics: Dynamics) -> Any:
        """All formulas as one compiled function of states, and which of them count whole turns."""
        if self._made is None and self.series:
            formulas: list[Any] = []
            turns: list[bool] = []
            for name, (_, text) in self.series.items():
                made = find_outputs(dynamics, [text], [])
                if len(made) != 1:
                    every = ", ".join(made)
                    raise DalembertError(f"outputs: {name!r} has {len(made)} values.  Fix: one of {every}")
                (formula,) = made.values()
                formulas.append(formula)
                turns.append(_is_cut_angle(dynamics, formula))
            self._made = formula_kernel(dynamics, formulas), turns
        return self._made

    def of(self, batch: Batch, parameters: np.ndarray) -> tuple[dict[str, np.ndarray], dict[int, str]]:
        """Arrays with an axis of samples first, by name, and why samples have no value of a function."""
        found: dict[str, np.ndarray] = {}
        failed: dict[int, str] = {}
        if self.series:
            kernel, turns = self._kernel(batch.dynamics)
            t, q, u = batch.data.time.values, batch.data.q.values, batch.data.u.values
            n, m = q.shape[:2]
            p = np.repeat(parameters, m, axis=0)
            rows = kernel(np.tile(t, n), q.reshape(n * m, -1), u.reshape(n * m, -1), p)
            y = np.asarray(rows).reshape(n, m, -1)
            for k, (name, (word, _)) in enumerate(self.series.items()):
                values = np.unwrap(y[..., k], axis=1) if turns[k] else y[..., k]
                found[name] = REDUCTIONS[word](values) if word else values
        for name, function in self.functions.items():
            made: dict[int, Any] = {}
            for i in range(len(batch)):
                if i in batch.failed:
                    continue
                try:
                    made[i] = numbers_of(function(batch.trajectory(i)))
                except Exception as error:  # a function of the caller: its reason is kept, the others go on
                    failed[i] = f"{name}: {reason_of(error)}"
            found |= gathered(name, made, len(batch))
        return found, failed


def gathered(name: str, values: Mapping[int, Any], count: int) -> dict[str, np.ndarray]:
    """Numbers, arrays or dictionaries of them, one for each sample, as arrays; NaN where there is none."""
    parts: dict[str, dict[int, np.ndarray]] = {}
    for i, value in values.items():
        for key, part in (value if isinstance(value, DICT) else {name: value}).items():
            parts.setdefault(key, {})[i] = part
    found: dict[str, np.ndarray] = {}
    for key, rows in parts.items():
        kind = complex if any(np.iscomplexobj(row) for row in rows.values()) else float
        shape = np.max([row.shape for row in rows.values()], axis=0) if rows else ()
        table = np.full((count, *map(int, shape)), np.nan, dtype=kind)
        for i, row in rows.items():
            table[(i, *(slice(size) for size in row.shape))] = row
        found[key] = table
    return found


def numbers_of(value: Any) -> Any:
    """A number, an array, or a dictionary of them."""
    if isinstance(value, MAPPING):
        return {str(key): numbers_of(part) for key, part in value.items()}
    found = np.asarray(getattr(value, "values", value))
    if found.dtype.kind not in "biufc":
        raise DalembertError(f"expected numbers, got {value!r}")
    return found.astype(complex if found.dtype.kind == "c" else float)


def _split(text: str) -> tuple[str, str]:
    """``max: A.d`` as a word and a formula."""
    word, colon, rest = text.partition(":")
    if colon and word.strip() in REDUCTIONS:
        return word.strip(), rest.strip()
    if colon and word.strip().isidentifier() and word.strip() not in ("joint", "output"):
        raise DalembertError(f"outputs: {text!r}: {word.strip()!r} is none of {', '.join(REDUCTIONS)}")
    return "", text.strip()


def _joints(dynamics: Dynamics) -> list[str]:
    names: list[str] = []
    for name in dynamics.flat.joints:
        joint = dynamics.coordinates.nominal_joint(name).joint
        names += [name] if joint.nq == 1 else [f"{name}[{i}]" for i in range(joint.nq)]
    return names


def _is_cut_angle(dynamics: Dynamics, formula: Any) -> bool:
    """True for the angle of a joint that is measured from poses, which show no whole turns."""
    named = list(references(formula))
    if len(named) != 1 or formula != reference("q", named[0].element, named[0].index):
        return False
    joint = dynamics.coordinates.nominal_joint(named[0].element).joint
    return named[0].element not in dynamics.coordinates.slot_of_joint and named[0].index in joint.angles
