"""Calls of native code: native functions, bound functions, kernels, methods, and what Python and NumPy provide."""

from __future__ import annotations

import ast
import inspect
import math
from typing import Any

import numpy as np

from dalembert.native import library, types
from dalembert.native.bits import bits_of, float_of
from dalembert.native.emit import Value, double
from dalembert.native.expressions import MISSING, Expressions, is_native
from dalembert.native.records import SLOTS_OF_KERNEL, Outputs
from dalembert.native.types import BOOL, COMPLEX, FLOAT, INT, NOTHING, Array, Kernel, Scalar, Tuple, parts_of

__all__ = ["Calls"]

_KINDS: dict[Any, Scalar] = {
    np.int64: INT, int: INT, np.float64: FLOAT, float: FLOAT, np.bool_: BOOL, bool: BOOL, np.complex128: COMPLEX,
    complex: COMPLEX,
}  # fmt: skip

# Functions of one float: LLVM's own, and those of the mathematics library.
_INTRINSICS = {math.sqrt: "sqrt", np.sqrt: "sqrt", math.fabs: "fabs", np.floor: "floor"}
_MATHEMATICS = {
    getattr(owner, name): name
    for owner in (math, np)
    for name in ("sin", "cos", "tan", "exp", "log", "sinh", "cosh", "tanh")
} | {math.asin: "asin", math.acos: "acos", math.atan: "atan", math.atan2: "atan2", math.hypot: "hypot", math.pow: "pow"}
_MANY = 1 << 30
_OF_TWO = ("atan2", "hypot", "pow")

# Functions of the array library, by what Python calls them.
_LIBRARY = {
    np.eye: library.identity, np.arange: library.count_up, np.tril: library.lower_triangle, np.argsort: library.argsort,
}  # fmt: skip


class Calls(Expressions):
    """What a function can call."""

    def on_Call(self, node: ast.Call) -> Value:
        found: Any = self.static(node.func)
        if found is MISSING:
            return self._of_value(node)
        if library.is_own(found) and found not in _BUILTINS:
            found = library.own(found)
        if is_native(found):
            return self.call_native(found, self._arguments(node, found))
        if isinstance(found, type) and hasattr(found, "_fields"):
            return self._named_tuple(node, found)
        if getattr(found, "__func__", None) is vars(Outputs)["of"].__func__:
            self._expect(node, 2, 2)
            cls: Any = getattr(found, "__self__", None)
            return self.outputs_of(cls, *(self.expression(item) for item in node.args))
        return self._builtin(node, found)

    def _expect(self, node: ast.Call, least: int, most: int, keywords: tuple[str, ...] = ()) -> None:
        """Refuse a wrong number of arguments, and keywords that would be overlooked."""
        stray = [str(keyword.arg) for keyword in node.keywords if keyword.arg not in keywords]
        if stray:
            self.fail(f"the argument {', '.join(stray)}= is unknown here", "leave it out, or a loop", node)
        if not least <= len(node.args) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}" if most < _MANY else f"{least} or more"
            self.fail(f"{wanted} arguments expected, got {len(node.args)}", f"{wanted} of them", node)

    def _named_tuple(self, node: ast.Call, cls: Any) -> Value:
        items = dict(zip(cls._fields, [self.expression(item) for item in node.args], strict=False))
        for keyword in node.keywords:
            items[str(keyword.arg)] = self.expression(keyword.value)
        for name, value in getattr(cls, "_field_defaults", {}).items():
            if name not in items:
                items[name] = self.constant(value)
        if set(items) != set(cls._fields) or len(node.args) + len(node.keywords) > len(cls._fields):
            self.fail(f"{cls.__name__} is made of {', '.join(cls._fields)}", "each of them once", node)
        return self.join([items[name] for name in cls._fields], cls)

    def _arguments(self, node: ast.Call, function: Any) -> list[Value]:
        """Arguments in the order of the function's parameters; defaults are constants."""
        given: list[Value] = []
        for item in node.args:
            if isinstance(item, ast.Starred):
                value = self.expression(item.value)
                if not isinstance(value.kind, Tuple):
                    self.fail(
                        f"the items of {value.kind}", "only tuples can be taken apart: the items one by one", item
                    )
                given += self.split(value)
            else:
                given.append(self.expression(item))
        parameters = list(inspect.signature(function.python).parameters.values())
        # Evaluated as they are written, not in the order of the parameters.
        named = {keyword.arg: self.expression(keyword.value) for keyword in node.keywords}
        for parameter in parameters[len(given) :]:
            if parameter.name in named:
                given.append(named.pop(parameter.name))
            elif parameter.default is not parameter.empty:
                given.append(self.constant(parameter.default))
        if named or len(given) != len(parameters):
            names = ", ".join(parameter.name for parameter in parameters)
            got = ", ".join([str(len(node.args)), *(f"{name}=" for name in named)])
            self.fail(f"'{function.python.__name__}' takes ({names}), got {got}", "one value for each", node)
        return given

    def _of_value(self, node: ast.Call) -> Value:
        """A call of something that is computed: a field of a record, or a method."""
        if not isinstance(node.func, ast.Attribute):
            self.fail("this cannot be called", "a function decorated with @native, or a field of a record: c.rhs(…)")
        owner = self.expression(node.func.value)
        if self.is_array(owner):
            return self._method(node, owner, node.func.attr)
        if isinstance(owner.kind, Kernel) and owner.kind.in_place and node.func.attr == "run":
            return self._run_kernel(owner.parts[0], [self.expression(item) for item in node.args])
        function = self.attribute(owner, node.func.attr)
        self._expect(node, 0, _MANY)
        args = [self.expression(item) for item in node.args]
        if isinstance(function.kind, types.Closure):
            return self._call_bound(function, args)
        if isinstance(function.kind, Kernel):
            call = self._call_batch if function.kind.batch else self._call_kernel
            return call(function.parts[0], args)
        self.fail(f"{function.kind} cannot be called", "fields of kind Function or Kernel can")

    def _call_bound(self, function: Value, args: list[Value]) -> Value:
        """A function in a field: its code gets the arena, its record, then the arguments."""
        kind = function.kind
        if len(args) != len(kind.arguments):
            wanted = ", ".join(map(str, kind.arguments))
            self.fail(f"the function takes {len(kind.arguments)} arguments, got {len(args)}", f"({wanted})")
        if self.checking:
            self.guard(self.truth(function).parts[0], "this function is not there (None)")
        given = ["ptr %arena", f"ptr {function.parts[1]}"]
        for arg, want in zip(args, kind.arguments, strict=True):
            if isinstance(want, Array) and isinstance(arg.kind, Array) and not arg.kind.packed:
                self.fail("an array with gaps is given to a function in a field", "copy it first: .copy()")
            fitted = self.to(arg, want)
            given += [f"{part} {x}" for part, x in zip(parts_of(want), fitted.parts, strict=True)]
        result = kind.result.register[0] if kind.result.register else "void"
        text = f"call {result} {function.parts[0]}({', '.join(given)})"
        value = Value(kind.result, [self.op(text)] if result != "void" else [])
        if not value.parts:
            self.out(text)
        self.pass_on()
        return value

    def _call_kernel(self, field: str, args: list[Value]) -> Value:
        """Inputs are put one after the other into the kernel's memory; its outputs stand behind them."""
        code, memory, n_in, outputs = self.kernel_memory(field)
        places: list[str] = []
        at = "0"
        for arg in args:
            if not isinstance(arg.kind, Scalar) and not self.is_array(arg, 1):
                self.fail(f"{arg.kind} is given to a kernel", "numbers and vectors: A.reshape(-1)")
            places.append(at)
            at = self.add(at, self.shape(arg)[0] if self.is_array(arg) else "1")
        if self.checking:
            self.guard(self.op(f"icmp ne ptr {code}, null"), "this kernel is not there (None)")
            self.guard(self.op(f"icmp eq i64 {at}, {n_in}"), "a kernel is given a wrong number of inputs")
        for arg, start in zip(args, places, strict=True):
            place = self.op(f"getelementptr inbounds double, ptr {memory}, i64 {start}")
            if self.is_array(arg):
                target = self.make(FLOAT, place, self.shape(arg))
                # Inputs are nobody else's memory.
                target.fresh = True
                self.fill(target, arg)
            else:
                self.store(FLOAT, place, arg)
        scratch = self.op(f"getelementptr inbounds double, ptr {outputs.parts[0]}, i64 {outputs.parts[1]}")
        self.out(f"call void {code}(ptr {memory}, ptr {outputs.parts[0]}, ptr {scratch})")
        return outputs

    def _run_kernel(self, slots: str, args: list[Value]) -> Value:
        """Inputs are read where they are, outputs written where they go; scratch space is the arena's."""
        if len(args) != 2 or any(arg.kind != types.vector() for arg in args):
            self.fail("a kernel that works in place takes two vectors of floats", "kernels[k].run(inputs, outputs)")
        places = [self.op(f"getelementptr inbounds i8, ptr {slots}, i64 {8 * k}") for k in range(SLOTS_OF_KERNEL)]
        code = self.op(f"load ptr, ptr {places[0]}")
        scratch = self.allocate(FLOAT, [self.op(f"load i64, ptr {places[3]}")])
        run, skip = self.labels("run", "skip")
        if self.checking:
            good = self.op(f"icmp ne ptr {code}, null")
            self.guard(good, "a kernel that is not there")
            for place, arg, what in zip(places[1:], args, ("inputs", "outputs"), strict=False):
                enough = self.op(f"icmp sle i64 {self.op(f'load i64, ptr {place}')}, {self.shape(arg)[0]}")
                self.guard(enough, f"a kernel has more {what} than it is given room for")
                good = self.op(f"and i1 {good}, {enough}")
            self.branch(good, run, skip)
            self.start(run)
        inputs, outputs = (arg.parts[0] for arg in args)
        self.out(f"call void {code}(ptr {inputs}, ptr {outputs}, ptr {scratch.parts[0]})")
        if self.checking:
            self.jump(skip)
            self.start(skip)
        return Value(NOTHING, [])

    def _call_batch(self, field: str, args: list[Value]) -> Value:
        """Groups of states, from one array to another."""
        kinds = [arg.kind for arg in args]
        if len(args) != 3 or kinds[2] != INT or any(not isinstance(k, Array) or not k.packed for k in kinds[:2]):
            self.fail("a batch kernel takes two arrays without gaps and a number of groups", "kernel(inp, out, groups)")
        slots = [field, *(self.op(f"getelementptr inbounds i8, ptr {field}, i64 {8 * k}") for k in (1, 2, 3))]
        code, work = self.op(f"load ptr, ptr {slots[0]}"), self.op(f"load ptr, ptr {slots[3]}")
        groups = args[2].parts[0]
        if self.checking:
            for arg, slot in zip(args[:2], slots[1:3], strict=True):
                needed = self.mul(groups, self.op(f"load i64, ptr {slot}"))
                self.guard(self.op(f"icmp sle i64 {needed}, {self.size(arg)}"), "too few numbers for a batch kernel")
        self.out(f"call void {code}(ptr {args[0].parts[0]}, ptr {args[1].parts[0]}, ptr {work}, i64 {groups})")
        return Value(NOTHING, [])

    # -- methods of arrays --------------------------------------------------------------------------------------------

    def _method(self, node: ast.Call, a: Value, name: str) -> Value:
        if name in ("copy", "max", "sum"):
            self._expect(node, 0, 0)
        match name:
            case "copy":
                return self.copy(a)
            case "reshape":
                self._expect(node, 1, 3)
                first = node.args[0]
                given = [self.expression(item) for item in (first.elts if isinstance(first, ast.Tuple) else node.args)]
                if given and isinstance(given[0].kind, Tuple):
                    given = self.split(given[0])
                return self.reshaped(a, [self._as_whole(item, node) for item in given])
            case "fill":
                self._expect(node, 1, 1)
                value = self.expression(node.args[0])
                if not isinstance(value.kind, Scalar):
                    self.fail(f"an array cannot be filled with {value.kind}", "a number, or a[:] = …", node)
                self.fill(self.writable(a, node), value)
                return Value(NOTHING, [])
            case "max" if a.kind.rank < 3 and a.kind.element != COMPLEX:
                if self.checking:
                    self.guard(self.op(f"icmp sgt i64 {self.size(a)}, 0"), "the largest of no numbers")
                chosen = library.largest_of_vector if a.kind.rank == 1 else library.largest_of_matrix
                return self.call_native(chosen, [a])
            case "sum" if a.kind.rank == 1:
                return self.call_native(library.total, [a, self.constant(library.ZEROS[a.kind.element.name])])
        self.fail(f"{a.kind} has no method '{name}' here", "copy, reshape, fill, max, sum; or a loop")

    # -- what Python and NumPy provide -------------------------------------------------------------------------------

    def _builtin(self, node: ast.Call, found: Any) -> Value:
        if _has(_BUILTINS, found):
            name = _BUILTINS[found]
            self._expect(node, *_ARGUMENTS.get(name, (1, 1)))
            return getattr(self, "call_" + name)(node)
        if _has(_INTRINSICS, found) or _has(_MATHEMATICS, found):
            return self._function_of_floats(node, found)
        if _has(_LIBRARY, found):
            self._expect(node, 1, 1)
            return self._library_call(_LIBRARY[found], self.expression(node.args[0]))
        called = getattr(found, "__name__", repr(found))
        fix = _OTHERS.get(called, "decorate it with @native, or see docs/how-to/write-native-code.md")
        self.fail(f"'{called}' is unknown to native code", fix)

    def _library_call(self, function: Any, value: Value) -> Value:
        wanted = {library.lower_triangle: 2, library.argsort: 1}.get(function, 0)
        if wanted and (not self.is_array(value, wanted) or value.kind.element not in (FLOAT, INT)):
            self.fail(f"expected a {'matrix' if wanted == 2 else 'vector'} of numbers, got {value.kind}", "a loop")
        if not wanted and value.kind != INT:
            self.fail(f"expected a whole number, got {value.kind}", "int(…)")
        made = self.call_native(function, [value])
        made.fresh = True
        return made

    def _function_of_floats(self, node: ast.Call, found: Any) -> Value:
        count = 2 if _MATHEMATICS.get(found) in _OF_TWO else 1
        self._expect(node, count, count)
        args = [self.expression(item) for item in node.args]

        def make(*values: Value) -> Value:
            given = [self.to(value, FLOAT) for value in values]
            if found in _INTRINSICS:
                return self.intrinsic(_INTRINSICS[found], *given)
            return self.library(_MATHEMATICS[found], *given)

        return self.elementwise(make, *args) if any(map(self.is_array, args)) else make(*args)

    def call_abs(self, node: ast.Call) -> Value:
        def make(value: Value) -> Value:
            if value.kind == FLOAT:
                return self.intrinsic("fabs", value)
            if value.kind == COMPLEX:
                return self.library("hypot", *(Value(FLOAT, [part]) for part in value.parts))
            value = self.to(value, INT)
            opposite = self.op(f"sub i64 0, {value.parts[0]}")
            below = self.op(f"icmp slt i64 {value.parts[0]}, 0")
            return Value(INT, [self.op(f"select i1 {below}, i64 {opposite}, i64 {value.parts[0]}")])

        value = self.expression(node.args[0])
        return self.elementwise(make, value) if self.is_array(value) else make(value)

    def call_min(self, node: ast.Call) -> Value:
        return self._extreme(node, "lt")

    def call_max(self, node: ast.Call) -> Value:
        return self._extreme(node, "gt")

    def _extreme(self, node: ast.Call, order: str) -> Value:
        """As Python's min and max: the first one, unless a later one is strictly better."""
        values = [self.expression(item) for item in node.args]
        if len(values) < 2 or not all(isinstance(value.kind, Scalar) for value in values):
            self.fail("min and max take two or more numbers", "a.max(), or a loop, for arrays")
        kind = FLOAT if any(value.kind == FLOAT for value in values) else INT
        best = self.to(values[0], kind)
        compare = f"fcmp o{order} double" if kind == FLOAT else f"icmp s{order} i64"
        part = kind.register[0]
        for value in values[1:]:
            x = self.to(value, kind).parts[0]
            better = self.op(f"{compare} {x}, {best.parts[0]}")
            best = Value(kind, [self.op(f"select i1 {better}, {part} {x}, {part} {best.parts[0]}")])
        return best

    def call_len(self, node: ast.Call) -> Value:
        value = self.expression(node.args[0])
        if isinstance(value.kind, Tuple):
            return self.integer(len(value.kind.items))
        if not self.is_array(value):
            self.fail(f"{value.kind} has no length", "arrays and tuples have")
        return Value(INT, [self.shape(value)[0]])

    def call_int(self, node: ast.Call) -> Value:
        value = self.expression(node.args[0])
        return self._truncated(value) if value.kind == FLOAT else self.to(value, INT)

    def _truncated(self, value: Value) -> Value:
        """The whole part; the nearest there is of what 64 bits cannot hold, zero for NaN."""
        if self.checking:
            size = self.intrinsic("fabs", value).parts[0]
            self.guard(self.op(f"fcmp olt double {size}, {double(2.0**63)}"), "this number is too large for an integer")
        self.declare("declare i64 @llvm.fptosi.sat.i64.f64(double)")
        return Value(INT, [self.op(f"call i64 @llvm.fptosi.sat.i64.f64(double {value.parts[0]})")])

    def call_float(self, node: ast.Call) -> Value:
        return self.to(self.expression(node.args[0]), FLOAT)

    def call_bool(self, node: ast.Call) -> Value:
        return self.condition(node.args[0])

    def call_complex(self, node: ast.Call) -> Value:
        real, imag = (self.to(self.expression(item), FLOAT) for item in node.args)
        return Value(COMPLEX, real.parts + imag.parts)

    def call_ceil(self, node: ast.Call) -> Value:
        return self._rounded("ceil", node)

    def call_floor(self, node: ast.Call) -> Value:
        return self._rounded("floor", node)

    def _rounded(self, name: str, node: ast.Call) -> Value:
        value = self.expression(node.args[0])
        if value.kind in (INT, BOOL):
            return self.to(value, INT)
        return self._truncated(self.intrinsic(name, self.to(value, FLOAT)))

    def call_copysign(self, node: ast.Call) -> Value:
        return self.intrinsic("copysign", *(self.expression(item) for item in node.args))

    def call_isfinite(self, node: ast.Call) -> Value:
        size = self.intrinsic("fabs", self.to(self.expression(node.args[0]), FLOAT))
        return Value(BOOL, [self.op(f"fcmp olt double {size.parts[0]}, {double(math.inf)}")])

    def call_isnan(self, node: ast.Call) -> Value:
        value = self.to(self.expression(node.args[0]), FLOAT).parts[0]
        return Value(BOOL, [self.op(f"fcmp uno double {value}, {value}")])

    def call_bits_of(self, node: ast.Call) -> Value:
        value = self.to(self.expression(node.args[0]), FLOAT).parts[0]
        return Value(INT, [self.op(f"bitcast double {value} to i64")])

    def call_float_of(self, node: ast.Call) -> Value:
        return Value(FLOAT, [self.op(f"bitcast i64 {self.whole(node.args[0]).parts[0]} to double")])

    # -- new arrays --------------------------------------------------------------------------------------------------

    def _keyword(self, node: ast.Call, name: str) -> ast.expr | None:
        return next((keyword.value for keyword in node.keywords if keyword.arg == name), None)

    def _element(self, node: ast.Call, at: int = 1, usual: Scalar = FLOAT) -> Scalar:
        given = node.args[at] if len(node.args) > at else self._keyword(node, "dtype")
        if given is None:
            return usual
        kind = self.static(given)
        if not _has(_KINDS, kind):
            self.fail("this dtype is unknown", "np.float64, np.int64, np.bool_ or np.complex128", given)
        return _KINDS[kind]

    def _lengths(self, node: ast.expr) -> list[str]:
        given = self.expression(node)
        items = self.split(given) if isinstance(given.kind, Tuple) else [given]
        if not 1 <= len(items) <= 3 or any(item.kind != INT for item in items):
            self.fail("the shape of an array is one to three whole numbers", "int(…), (rows, columns)", node)
        return [self._length(item) for item in items]

    def _length(self, n: Value) -> str:
        """A length that is not negative; in checking mode a negative one is a fault."""
        if self.checking or (n.const is not None and n.const >= 0):
            return n.parts[0]
        negative = self.op(f"icmp slt i64 {n.parts[0]}, 0")
        return self.op(f"select i1 {negative}, i64 0, i64 {n.parts[0]}")

    def call_empty(self, node: ast.Call) -> Value:
        return self.allocate(self._element(node), self._lengths(node.args[0]))

    def call_zeros(self, node: ast.Call) -> Value:
        return self.allocate(self._element(node), self._lengths(node.args[0]), zero=True)

    def call_ones(self, node: ast.Call) -> Value:
        return self._filled(node, self._element(node), self.integer(1))

    def call_full(self, node: ast.Call) -> Value:
        value = self.expression(node.args[1])
        if not isinstance(value.kind, Scalar) or value.kind == NOTHING:
            self.fail(f"an array cannot be filled with {value.kind}", "a number", node.args[1])
        return self._filled(node, self._element(node, 2, value.kind), value)

    def _filled(self, node: ast.Call, element: Scalar, value: Value) -> Value:
        made = self.allocate(element, self._lengths(node.args[0]))
        if element == INT and value.kind == FLOAT:
            self.fail("a float goes into an array of whole numbers", "convert it with int(…)", node)
        self.fill(made, self.to(value, element))
        return made

    def call_empty_like(self, node: ast.Call) -> Value:
        return self._like(node, zero=False)

    def call_zeros_like(self, node: ast.Call) -> Value:
        return self._like(node, zero=True)

    def _like(self, node: ast.Call, zero: bool) -> Value:
        a, shape = self.expression(node.args[0]), self._keyword(node, "shape")
        if not self.is_array(a):
            self.fail(f"expected an array, got {a.kind}", "np.zeros(n)")
        element = self._element(node, 1, a.kind.element)
        return self.allocate(element, self.shape(a) if shape is None else self._lengths(shape), zero)


def _has(table: dict[Any, Any], thing: Any) -> bool:
    """True if a table has this thing, of whatever type it is."""
    try:
        return thing in table
    except TypeError:
        return False


_BUILTINS: dict[Any, str] = {
    abs: "abs", np.abs: "abs", min: "min", max: "max", len: "len", int: "int", float: "float", bool: "bool",
    complex: "complex", math.ceil: "ceil", math.floor: "floor", math.copysign: "copysign", np.isfinite: "isfinite",
    math.isfinite: "isfinite", math.isnan: "isnan", np.isnan: "isnan", np.empty: "empty", np.zeros: "zeros",
    np.ones: "ones", np.full: "full", np.empty_like: "empty_like", np.zeros_like: "zeros_like", bits_of: "bits_of",
    float_of: "float_of",
}  # fmt: skip

# How many arguments they take, one unless it is said here, and which keywords.
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "min": (2, _MANY), "max": (2, _MANY), "complex": (2, 2), "copysign": (2, 2), "empty": (1, 2, ("dtype",)),
    "zeros": (1, 2, ("dtype",)), "ones": (1, 2, ("dtype",)), "full": (2, 3, ("dtype",)),
    "empty_like": (1, 2, ("dtype", "shape")), "zeros_like": (1, 2, ("dtype", "shape")),
}  # fmt: skip

# What to write instead of functions that are often missed.
_OTHERS = {
    "enumerate": "for i in range(a.shape[0])", "zip": "for i in range(a.shape[0])", "range": "for i in range(…)",
    "print": "with dalembert.native.plain(): the function runs in Python, where it can print",
    "sum": "a.sum(), or a loop", "dot": "a @ b", "round": "math.floor(x + 0.5)", "any": "a loop", "all": "a loop",
    "array": "np.empty(n), then its elements", "norm": "math.sqrt(x @ x)", "sorted": "np.argsort",
}  # fmt: skip
