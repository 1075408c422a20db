"""One method of a model for each kind of solid, joint, constraint and force, made from the catalogs.

``methods.pyi`` holds their signatures for editors and type checkers; ``python docs/generate.py`` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import Parameter, Signature, cleandoc
from typing import Any, Literal, get_origin

from dalembert.constraints import CONSTRAINTS
from dalembert.elements import Element
from dalembert.elements.base import is_name, pair_of
from dalembert.errors import did_you_mean
from dalembert.forces import FORCES
from dalembert.joints import JOINTS, Joint, JointData
from dalembert.model.data import Body
from dalembert.model.fields import checked, nearest
from dalembert.solids import SOLIDS, Solid

__all__ = ["ElementMethods", "methods"]

CALLS = (  # of the package, that are asked of models, too
    "assemble", "compare", "compile", "derive", "equilibrium", "export_c", "export_fmu", "inspect", "inverse_dynamics",
    "kinematics", "linearize", "redundancy", "simulate", "simulate_many", "sweep", "workspace", "write",
)  # fmt: skip
WORDS = {  # of other programs, for what is no method here
    "save": "da.write(model, path)", "to_yaml": "da.write(model, path)", "run": "da.simulate(model, duration)",
    "copy": "copy.deepcopy(model)", "solve": "da.simulate(model, duration)", "plot": "da.simulate(model, …).plot(path)",
    **dict.fromkeys(("animate", "show", "draw", "view", "render", "visualize"), "da.simulate(model, …).animate(path)"),
    **dict.fromkeys(("motor", "actuator"), 'model.drive(joint, "2*pi*t") for a given motion, model.joint_force(name, '
                                           "joint, formula) for a given torque, da.parts.dc_motor(model, …)"),
    **dict.fromkeys(("damper", "dashpot"), "model.spring(name, first, second, at=…, damping=…)"),
    **dict.fromkeys(("hydraulic_cylinder", "actuator_cylinder"), "da.parts.cylinder(model, …)"),
}  # fmt: skip
_ENDS = ("first", "second")


class ElementMethods:
    """Adds elements of the catalogs to a model. What was registered later is found by its name."""

    def __getattr__(self, name: str) -> Any:
        missing = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name.startswith("_"):
            raise AttributeError(missing)  # Python itself asks, such as for __setstate__ of each copy
        known = dict(methods())
        if name in known:
            return known[name].__get__(self)
        if name in CALLS:
            raise AttributeError(f"{missing}; it is da.{name}(model, …)")
        bare = name.removeprefix("add_").removeprefix("create_")
        if bare in WORDS:
            raise AttributeError(f"{missing}; it is {WORDS[bare]}")
        names = list(dict.fromkeys([*known, *(one for one in dir(type(self)) if not one.startswith("_"))]))
        raise AttributeError(f"{missing}; {did_you_mean(bare, names, 3) or nearest(bare, names)}")


def methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Name and function of every method."""
    for kind, solid in SOLIDS.items():
        yield kind, _solid_method(kind, solid)
    for joint in JOINTS.values():
        yield joint.kind.replace("-", "_"), _joint_method(joint)
    for constraint in CONSTRAINTS.values():
        yield _name(constraint), _element_method("constraints", "constraint", constraint)
    for force in FORCES.values():
        yield _name(force), _element_method("forces", "force", force)


def _name(element: type[Element]) -> str:
    return element.method or element.model_fields["kind"].default.replace("-", "_")


def _solid_method(kind: str, solid: type[Solid]) -> Callable[..., Any]:
    fields = {key: field for key, field in solid.model_fields.items() if key not in ("kind", "density")}

    def add(self: Any, name: str, *given: Any, **more: Any) -> Body:
        if len(given) > len(solid.positional):
            listed = ", ".join(("name", *solid.positional))
            raise TypeError(f"{kind}() takes {len(solid.positional) + 1} positional arguments ({listed})")
        sizes: dict[str, Any] = {"kind": kind, **dict(zip(solid.positional, given, strict=False))}
        for key in [key for key in more if key in solid.model_fields or key not in Body.model_fields]:
            if key in sizes:
                raise TypeError(f"{kind}() got two values for {key!r}")
            sizes[key] = more.pop(key)
        return self.body(name, solid=sizes, **more)

    listed = [_option(key, fields[key], Parameter.POSITIONAL_OR_KEYWORD) for key in solid.positional]
    options = [_option(key, field) for key, field in fields.items() if key not in solid.positional]
    either = [_option(key, None) for key in ("mass", "density")]
    rest = [_option(key, Body.model_fields[key]) for key in ("color", "frame")]
    return _finished(add, kind, solid, [_argument("name", "str"), *listed, *either, *options, *rest], "Body")


def _joint_method(joint: type[Joint]) -> Callable[..., Any]:
    def add(self: Any, name: str, first: Any, second: Any, *more: Any, **fields: Any) -> JointData:
        if more:
            given = ", ".join(f"{key}=…" for key in joint.keywords()) or "the rest"
            method = joint.kind.replace("-", "_")
            raise TypeError(f"{method}() takes a name and two bodies in their order; give {given} by name")
        return self.joint(joint.kind, name, first, second, **fields)

    keywords = [*joint.keywords(), "frame", "frame_1", "frame_2", "reference", "armature", "cut"]
    fields = {**JointData.model_fields, **joint.Data.model_fields}
    options = [_option(key, fields.get(key)) for key in dict.fromkeys(keywords)]
    given = [_argument("name", "str"), _argument("first", "Any"), _argument("second", "Any")]
    return _finished(add, joint.kind.replace("-", "_"), joint, [*given, *options], "JointData")


def _element_method(section: str, title: str, element: type[Element]) -> Callable[..., Any]:
    name, pair = _name(element), pair_of(element)
    fields = {key: field for key, field in element.model_fields.items() if key != "kind"}
    listed = element.positional or tuple(key for key, field in fields.items() if field.is_required())
    order = [part for key in listed for part in (_ENDS if key == pair else (key,))]

    def add(self: Any, *given: Any, **more: Any) -> Any:
        if len(given) > len(order):
            raise TypeError(f"{name}() takes {len(order)} positional arguments ({', '.join(order)}), got {len(given)}")
        for key, value in zip(order, given, strict=False):
            if key in more:
                raise TypeError(f"{name}() got two values for {key!r}; in their order they are {', '.join(order)}")
            more[key] = value
        if pair is not None and any(key in more for key in _ENDS):
            more[pair] = tuple(more.pop(key) for key in _ENDS if key in more)
        more = element.from_call(more)
        return self.append(section, checked(element, f"{title} {more.get('name')!r}", **more))

    given = [
        _argument(key, "Any")
        if key in _ENDS
        else _option(key, fields[key], Parameter.POSITIONAL_OR_KEYWORD, "name" in listed or key != "name")
        for key in order
    ]
    options = [_option(key, field, required="name" in listed) for key, field in fields.items() if key not in listed]
    return _finished(add, name, element, [*given, *options], element.__name__)


def _argument(name: str, annotation: str) -> Parameter:
    return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation)


def _option(name: str, field: Any, kind: Any = Parameter.KEYWORD_ONLY, required: bool = True) -> Parameter:
    """A field as an argument; a field that every element must have may be found by the element itself."""
    if field is None:
        return Parameter(name, kind, default=None, annotation="Any")
    if field.is_required() and required:
        return Parameter(name, kind, annotation=_word(field))
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    word = _word(field)
    return Parameter(name, kind, default=default, annotation=f"{word} | None" if field.is_required() else word)


def _word(field: Any) -> str:
    """The type of an argument; formulas and elements may be given in many ways."""
    if field.annotation in (bool, int, str) and not is_name(field):
        return field.annotation.__name__
    return "str" if get_origin(field.annotation) is Literal else "Any"


def _finished(add: Any, name: str, kind: Any, parameters: list[Parameter], result: str) -> Callable[..., Any]:
    add.__name__, add.__qualname__ = name, f"{ElementMethods.__name__}.{name}"
    add.__doc__ = cleandoc(kind.__doc__ or "")
    own = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    add.__signature__ = Signature([own, *parameters], return_annotation=result)
    return add


for _key, _method in methods():
    setattr(ElementMethods, _key, _method)
