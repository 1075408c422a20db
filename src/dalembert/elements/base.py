"""Field types and the base class of everything a model is made of.

These classes are the one schema: the Python calls, the YAML files and the generated reference all come from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast, get_args, get_origin

import numpy as np
import sympy as sp
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, WithJsonSchema

from dalembert.elements.allowed import PARAMETERS, Allowed
from dalembert.errors import ExpressionError
from dalembert.expressions import parse, references, to_text
from dalembert.expressions.parse import MAX_BITS
from dalembert.values import BOOLEAN, DICT, INTEGER, NUMBER, SEQUENCE, TUPLE

if TYPE_CHECKING:
    from dalembert.elements.site import Site

__all__ = [
    "BodyName", "ConstraintName", "Element", "Formula", "FrameName", "Gravity", "Inertia3", "JointName", "Name",
    "ParameterName", "PlainFormula", "RateName", "Record", "Vector", "allowed_in", "formula_of", "formulas_in",
    "is_name", "names_in", "numbers_in", "pair_of", "records_in", "replace_names",
]  # fmt: skip

ROUNDED = 1e-12  # by which equal entries of a tensor may differ, relative to the largest
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_ \-]*(\.[A-Za-z_][A-Za-z0-9_ \-]*)*")
_RATE = re.compile(rf"{_NAME.pattern}(\[[0-9]{{1,3}}\])?")
AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


def formula_of(value: Any, tables: bool = True) -> sp.Expr:
    """A number, a text or a SymPy expression as a SymPy expression.

    Args:
        tables: whoever takes it checks that unknown functions are tables of a model.
    """
    if isinstance(value, sp.Expr):
        return value
    if isinstance(value, str):
        try:
            return parse(value, tables)
        except ExpressionError as error:
            raise ValueError(str(error)) from None
    if isinstance(value, BOOLEAN) or not isinstance(value, NUMBER):
        raise ValueError(f"expected a number or a formula, got {value!r}")
    if isinstance(value, INTEGER):
        if int(value).bit_length() > MAX_BITS:
            raise ValueError("expected a number below 1e308, got a larger one")
        return sp.Integer(int(value))
    if not np.isfinite(value):
        raise ValueError(f"expected a finite number, got {value}")
    return sp.Integer(0) if value == 0 else sp.Float(float(value))


def plain_formula(value: sp.Expr) -> int | float | str:
    """A formula as YAML holds it: a number where it is one, else text."""
    if isinstance(value, sp.Integer):
        return int(value)
    if isinstance(value, sp.Float):
        return float(value)
    return to_text(value)


def _vector(value: Any) -> Any:
    """Three formulas; ``"z"`` and ``"-x"`` name the axes of the frame."""
    if isinstance(value, str):
        sign, axis = (-1, value[1:]) if value.startswith("-") else (1, value)
        if axis not in AXES:
            raise ValueError(f"expected three numbers or one of x, y, z, -x, -y, -z, got {value!r}")
        return tuple(sign * component for component in AXES[axis])
    return numbers_in(value, 3, "three numbers")


def _gravity(value: Any) -> Any:
    """A vector that is given whole: a direction alone would be a gravity of 1 m/s², and a size alone has none."""
    if isinstance(value, (str, *NUMBER)):
        raise ValueError(f"expected three numbers, such as (0, 0, -9.81), got {value!r}")
    return value


def numbers_in(value: Any, count: int, expected: str) -> tuple[Any, ...]:
    """Numbers or formulas in a list, a tuple, an array or a matrix, as many as there must be."""
    if isinstance(value, (np.ndarray, sp.MatrixBase)):
        value = list(np.asarray(value, dtype=object).reshape(-1))
    if not isinstance(value, SEQUENCE) or len(value) != count:
        raise ValueError(f"expected {expected}, got {value!r}")
    return tuple(value)


def _inertia(value: Any) -> Any:
    """Three moments, six entries or a 3×3 matrix of inertia, as nine or three or six formulas."""
    if isinstance(value, (np.ndarray, sp.MatrixBase)):
        value = np.asarray(value, dtype=object).tolist()
    if isinstance(value, SEQUENCE) and value and isinstance(value[0], SEQUENCE):
        if len(value) != 3 or any(not isinstance(row, SEQUENCE) or len(row) != 3 for row in value):
            raise ValueError("expected a 3×3 matrix of inertia")
        rows = [list(row) for row in value]
        rows = [[formula_of(entry) for entry in row] for row in rows]
        if any(not _alike(rows[i][j], rows[j][i], rows) for i in range(3) for j in range(i)):
            raise ValueError("the matrix of inertia must be symmetric")
        value = [rows[0][0], rows[1][1], rows[2][2], rows[0][1], rows[0][2], rows[1][2]]
    if not isinstance(value, SEQUENCE) or len(value) not in (3, 6):
        raise ValueError(f"expected (Ixx, Iyy, Izz), (Ixx, Iyy, Izz, Ixy, Ixz, Iyz) or a 3×3 matrix, got {value!r}")
    return tuple(value)


def _alike(one: sp.Expr, other: sp.Expr, rows: list[list[sp.Expr]]) -> bool:
    """Equal, or numbers that differ by rounding: a turned tensor R J Rᵀ is symmetric to the last digits only."""
    if one == other or not (one.is_number and other.is_number):
        return cast(bool, one == other)
    largest = max((abs(float(x)) for row in rows for x in row if x.is_number), default=0.0)
    return abs(float(one) - float(other)) <= ROUNDED * largest


def _name(value: Any) -> str:
    value = getattr(value, "name", value)
    if not isinstance(value, str) or not _NAME.fullmatch(value) or len(value) > 200:
        raise ValueError(f"expected a name (letters, digits, _, -, spaces; a letter first), got {value!r}")
    return value


def _rate_name(value: Any) -> str:
    """A joint, or one of its velocities."""
    value = getattr(value, "name", value)
    if not isinstance(value, str) or not _RATE.fullmatch(value) or len(value) > 200:
        raise ValueError(f"expected a joint, or joint[i] for velocity i of several, got {value!r}")
    return value


def _parameter_name(value: Any) -> str:
    """Only the model knows which parameters there are."""
    value = getattr(value, "name", value)
    if not isinstance(value, str) or not value or not value.isprintable() or len(value) > 200:
        raise ValueError(f"expected the name of a parameter, got {value!r}")
    return value


class Names:
    """Marks a field as the name of a body, a joint and so on: it must exist, and sub-models can be renamed."""

    def __init__(self, kind: str):
        self.kind = kind


# Files may say more than the Python type, so the schema is given; "x-type" is its word in the reference.
_FORMULA = {"anyOf": [{"type": "number"}, {"type": "string"}], "x-type": "formula"}
_ROW = {"type": "array", "items": _FORMULA, "minItems": 3, "maxItems": 3}
_VECTOR = {"anyOf": [_ROW, {"enum": ["x", "y", "z", "-x", "-y", "-z"]}], "x-type": "vector"}
_SIX = {"type": "array", "items": _FORMULA, "minItems": 6, "maxItems": 6}
_MATRIX = {"type": "array", "items": _ROW, "minItems": 3, "maxItems": 3}
_INERTIA = {"anyOf": [_ROW, _SIX, _MATRIX], "x-type": "inertia"}


def _name_schema(word: str, pattern: re.Pattern[str] = _NAME) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^{pattern.pattern}$", "maxLength": 200, "x-type": word})


Formula = Annotated[sp.Expr, BeforeValidator(formula_of), PlainSerializer(plain_formula), WithJsonSchema(_FORMULA)]
# Where there are no tables.
PlainFormula = Annotated[
    sp.Expr,
    BeforeValidator(partial(formula_of, tables=False)),
    PlainSerializer(plain_formula),
    WithJsonSchema(_FORMULA),
]
Vector = Annotated[tuple[Formula, Formula, Formula], BeforeValidator(_vector), WithJsonSchema(_VECTOR)]
Gravity = Annotated[Vector, BeforeValidator(_gravity), WithJsonSchema({**_ROW, "x-type": "vector"})]
Inertia3 = Annotated[tuple[Formula, ...], BeforeValidator(_inertia), WithJsonSchema(_INERTIA)]
_NameField = BeforeValidator(_name)
Name = Annotated[str, _NameField, _name_schema("name")]
BodyName = Annotated[str, _NameField, Names("body"), _name_schema("body")]
JointName = Annotated[str, _NameField, Names("joint"), _name_schema("joint")]
ConstraintName = Annotated[str, _NameField, Names("constraint"), _name_schema("constraint")]
# A joint, or joint[i]: one of its velocities.
RateName = Annotated[str, BeforeValidator(_rate_name), Names("rate"), _name_schema("rate", _RATE)]
ParameterName = Annotated[
    str,
    BeforeValidator(_parameter_name),
    Names("parameter"),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 200, "x-type": "parameter"}),
]
# 'world' (the reference configuration), 'body' (the body that the field belongs to), or the name of a body.
FrameName = Annotated[str, _NameField, Names("frame"), _name_schema("frame")]


class Record(BaseModel):
    """Frozen data without a name of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True)

    def may_name(self, field: str) -> Allowed:
        """What the formulas of a field may name: what its annotation is marked with, or parameters only."""
        return allowed_in(type(self)).get(field, PARAMETERS)

    def implied(self) -> dict[str, Any]:
        """What some fields are if they are not given, as other fields imply: files need not tell them then."""
        return {}


class Element(Record):
    """Frozen, named data. Unknown fields are refused.

    What an element refers to is known from its fields: names are marked as those of a body, a joint and so on (see
    ``Names``), formulas are found by their type. Validation, sub-models and the coordinates ask these.

    Attributes:
        method: of ``Model``, by which it is added; its kind if empty.
        positional: fields that this method also takes by position; the name and the required ones if empty.
    """

    method: ClassVar[str] = ""
    positional: ClassVar[tuple[str, ...]] = ()
    name: Name

    @classmethod
    def from_call(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """Its fields from the arguments of a call in Python, which may say less than a file."""
        return fields

    def check(self, site: Site) -> None:
        """Report what is wrong besides types of fields, formulas and names of other elements, which are checked."""

    def named(self, kind: str) -> list[str]:
        """Bodies (or joints, …) that its fields name."""
        return [name for _, mark, name in names_in(self) if mark == kind]

    def joints_read(self) -> set[str]:
        """Joints whose coordinates it reads, through its fields or its formulas."""
        read = {ref.element for *_, formula in formulas_in(self) for ref in references(formula) if ref.quantity == "q"}
        return read | set(self.named("joint"))


def _class_of(record: Record) -> type[Record]:
    return type(record)


def formulas_in(record: Any, at: str = "") -> Iterator[tuple[str, Any, str, sp.Expr]]:
    """Path, owner, field and value of every formula."""
    for key in _class_of(record).model_fields:
        for step, value in _leaves(getattr(record, key)):
            here = f"{at}{key}{step}"
            if isinstance(value, Record):
                yield from formulas_in(value, here + ".")
            elif isinstance(value, sp.Expr):
                yield here, record, key, value


def records_in(record: Any) -> Iterator[tuple[str, Record]]:
    """Path and value of every record among the fields."""
    for key in _class_of(record).model_fields:
        for step, value in _leaves(getattr(record, key)):
            if isinstance(value, Record):
                yield f"{key}{step}", value


def names_in(record: Any) -> Iterator[tuple[str, str, str]]:
    """Path, kind and value of every name of another element, keys of mappings included."""
    for key, kind in _named(_class_of(record)).items():
        value = getattr(record, key)
        if isinstance(value, DICT):
            yield from ((f"{key}.{name}", kind, name) for name in value)
        elif value is not None:
            yield from ((f"{key}{step}", kind, name) for step, name in _leaves(value))


@cache
def _named(kind: type[Record]) -> dict[str, str]:
    """Fields that hold names of other elements, and of which kind."""
    marked = {key: _marks(_annotation(field)) for key, field in kind.model_fields.items()}
    return {key: marks[0].kind for key, marks in marked.items() if marks}


@cache
def allowed_in(kind: type[Record]) -> dict[str, Allowed]:
    """Fields that are marked with what their formulas may name."""
    marks = [(key, mark) for key, field in kind.model_fields.items() for mark in field.metadata]
    return {key: mark for key, mark in marks if isinstance(mark, Allowed)}


def is_name(field: Any) -> bool:
    """True if a field holds the names of other elements."""
    return bool(_marks(_annotation(field)))


def pair_of(element: type[Element]) -> str | None:
    """The field that names two elements of a kind, the ends of the element, if there is one."""
    for key, field in element.model_fields.items():
        parts = get_args(field.annotation) if get_origin(field.annotation) is tuple else ()
        if len(parts) == 2 and all(_marks(part) for part in parts):
            return key
    return None


def _leaves(value: Any, step: str = "") -> Iterator[tuple[str, Any]]:
    """The values inside tuples and mappings, each with its path."""
    if isinstance(value, TUPLE):
        for i, item in enumerate(value):
            yield from _leaves(item, f"{step}[{i}]")
    elif isinstance(value, DICT):
        for key, item in value.items():
            yield from _leaves(item, f"{step}.{key}")
    else:
        yield step, value


def replace_names(record: Any, formula: Callable[[sp.Expr], sp.Expr], names: dict[str, Callable[[str], str]]) -> Any:
    """A copy of a record with every formula and every name of another element passed through a function."""
    changes: dict[str, Any] = {}
    for key, field in _class_of(record).model_fields.items():
        changes[key] = _replace(_annotation(field), getattr(record, key), formula, names)
    return record.model_copy(update=changes)


def _replace(annotation: Any, value: Any, formula: Any, names: dict[str, Callable[[str], str]]) -> Any:
    if isinstance(value, sp.Expr):
        return formula(value)
    if isinstance(value, Record):
        return replace_names(value, formula, names)
    if isinstance(value, str):
        kind = next((mark.kind for mark in _marks(annotation) if mark.kind in names), None)
        return names[kind](value) if kind else value
    if isinstance(value, TUPLE):
        return tuple(_replace(annotation, item, formula, names) for item in value)
    if isinstance(value, DICT):
        return {
            _replace(annotation, key, formula, names): _replace(annotation, item, formula, names)
            for key, item in value.items()
        }
    return value


def _annotation(field: Any) -> Any:
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def _marks(annotation: Any) -> list[Names]:
    """Every Names mark inside an annotation."""
    found = [annotation] if isinstance(annotation, Names) else []
    for part in getattr(annotation, "__metadata__", ()):
        found += _marks(part)
    for part in get_args(annotation):
        found += _marks(part)
    return found
