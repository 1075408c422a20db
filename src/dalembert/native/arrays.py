"""Arrays of native code: views, copies, and what is done element by element."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from dalembert.native.arena import FAULT
from dalembert.native.emit import Emitter, Value, double
from dalembert.native.types import BOOL, COMPLEX, FLOAT, INT, Array, Scalar, parts_of

__all__ = ["FAULTY", "Arrays"]

# Where a function ends in checking mode if something went wrong.
FAULTY = "faulty"

# What fresh memory holds in checking mode: a NaN that is easy to recognize, and an index that no array has.
_NAN = "0x7FF8DEADDEADDEAD"
_POISON = {
    FLOAT: Value(FLOAT, [_NAN]), COMPLEX: Value(COMPLEX, [_NAN, _NAN]), INT: Value(INT, [str(-0x0DEAD0DEAD0DEAD)]),
    BOOL: Value(BOOL, ["true"]),
}  # fmt: skip


class Arrays(Emitter):
    """What a function can do with arrays."""

    # -- parts ------------------------------------------------------------------------------------------------------

    def shape(self, a: Value) -> list[str]:
        return a.parts[1 : 1 + a.kind.rank]

    def strides(self, a: Value) -> list[str]:
        """Distances of neighbors along each axis, in elements."""
        rest = a.parts[1 + a.kind.rank :]
        return [*rest, "1"] if a.kind.packed else rest

    def size(self, a: Value) -> str:
        count = "1"
        for n in self.shape(a):
            count = self.mul(count, n)
        return count

    def make(self, element: Scalar, data: str, shape: list[str], strides: list[str] | None = None) -> Value:
        """An array from its parts; without strides it has no gaps."""
        if strides is None:
            strides = ["1"]
            for n in reversed(shape[1:]):
                strides.insert(0, self.mul(n, strides[0]))
            return Value(Array(element, len(shape)), [data, *shape, *strides[:-1]])
        packed = strides[-1] == "1"
        return Value(Array(element, len(shape), packed), [data, *shape, *(strides[:-1] if packed else strides)])

    def view(self, a: Value, data: str, shape: list[str], strides: list[str] | None = None) -> Value:
        """A part of an array."""
        made = self.make(a.kind.element, data, shape, strides)
        made.fixed = a.fixed
        return made

    def writable(self, a: Value, node: ast.AST | None = None) -> Value:
        """The array, unless it is a constant."""
        if a.fixed:
            self.fail("this array is a constant", "work on a copy", node)
        return a

    def is_array(self, value: Value, rank: int | None = None) -> bool:
        return isinstance(value.kind, Array) and rank in (None, value.kind.rank)

    # -- memory -----------------------------------------------------------------------------------------------------

    def allocate(self, element: Scalar, shape: list[str], zero: bool = False) -> Value:
        """A new array from the arena."""
        self.allocates = True
        if self.checking:
            for n in shape:
                self.guard(self.op(f"icmp sge i64 {n}, 0"), "negative length of an array")
        made = self.make(element, "", shape)
        made.fresh = True
        bytes_ = self.mul(self.size(made), str(element.size))
        data = made.parts[0] = self.op(f"call ptr @allocate(ptr %arena, i64 {bytes_})")
        if zero:
            self.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
            self.out(f"call void @llvm.memset.p0.i64(ptr {data}, i8 0, i64 {bytes_}, i1 false)")
        elif self.checking:
            self.each(shape, lambda at: self.store(element, self.element(made, at), _POISON[element]))
        return made

    def _put(self, element: Scalar, place: str, part: str) -> None:
        self.out(f"store {element.memory} {part}, ptr {place}")

    def guard(self, good: str, what: str) -> None:
        """In checking mode: remember the fault and leave the function unless the condition holds."""
        bad, go = self.labels("bad", "good")
        self.branch(good, go, bad)
        self.start(bad)
        self.out(f"store i64 {self.fault(what)}, ptr {self.op(f'getelementptr i8, ptr %arena, i64 {8 * FAULT}')}")
        self.jump(FAULTY)
        self.start(go)

    def pass_on(self) -> None:
        """In checking mode, behind a call: leave the function if the one that was called met a fault."""
        if not self.checking:
            return
        fault = self.op(f"load i64, ptr {self.op(f'getelementptr i8, ptr %arena, i64 {8 * FAULT}')}")
        (go,) = self.labels("good")
        self.branch(self.op(f"icmp eq i64 {fault}, 0"), go, FAULTY)
        self.start(go)

    def fault(self, what: str) -> int:
        """The number of a fault at the present line."""
        raise NotImplementedError

    def element(self, a: Value, index: list[str]) -> str:
        """Address of an element."""
        at = "0"
        for x, stride in zip(index, self.strides(a), strict=True):
            at = self.add(at, self.mul(x, stride))
        return self.op(f"getelementptr inbounds {a.kind.element.memory}, ptr {a.parts[0]}, i64 {at}")

    def checked_element(self, a: Value, index: list[str]) -> str:
        """Address of an element that the program names; in checking mode one that exists."""
        for x, n in zip(index, self.shape(a), strict=True):
            self.check_index(x, n)
        return self.element(a, index)

    def check_index(self, x: str, n: str) -> None:
        if self.checking:
            self.guard(self.op(f"icmp ult i64 {x}, {n}"), "index outside the array")

    def load(self, element: Scalar, place: str) -> Value:
        if element == COMPLEX:
            other = self.op(f"getelementptr inbounds double, ptr {place}, i64 1")
            return Value(COMPLEX, [self.op(f"load double, ptr {place}"), self.op(f"load double, ptr {other}")])
        value = self.op(f"load {element.memory}, ptr {place}")
        return Value(element, [self.op(f"trunc i8 {value} to i1") if element == BOOL else value])

    def store(self, element: Scalar, place: str, value: Value) -> None:
        if element == INT and value.kind == FLOAT:
            self.fail("a float goes into an array of whole numbers", "convert it with int(…)")
        value = self.to(value, element)
        if element == COMPLEX:
            self._put(FLOAT, place, value.parts[0])
            self._put(FLOAT, self.op(f"getelementptr inbounds double, ptr {place}, i64 1"), value.parts[1])
        elif element == BOOL:
            self._put(BOOL, place, self.op(f"zext i1 {value.parts[0]} to i8"))
        else:
            self._put(element, place, value.parts[0])

    # -- element by element -------------------------------------------------------------------------------------------

    def count(self, counter: str, low: str, high: str, labels: tuple[str, str, str], down: bool = False) -> str:
        """The head of a loop from ``low`` to before ``high``, and the counter's value; labels of head, body and end."""
        top, go, end = labels
        self.out(f"store i64 {low}, ptr {counter}")
        self.jump(top)
        self.start(top)
        x = self.op(f"load i64, ptr {counter}")
        self.branch(self.op(f"icmp {'sgt' if down else 'slt'} i64 {x}, {high}"), go, end)
        self.start(go)
        return x

    def each(self, shape: list[str], body: Callable[[list[str]], Any]) -> None:
        """for index in shape: body(index)"""
        index: list[str] = []
        open_loops: list[tuple[str, str, str, str]] = []
        for n in shape:
            counter, (top, go, end) = self.slot("i64"), self.labels("each", "do", "end")
            x = self.count(counter, "0", n, (top, go, end))
            index.append(x)
            open_loops.append((counter, top, end, x))
        body(index)
        for counter, top, end, x in reversed(open_loops):
            self.out(f"store i64 {self.op(f'add nsw i64 {x}, 1')}, ptr {counter}")
            self.jump(top)
            self.start(end)

    def item(self, value: Value, index: list[str]) -> Value:
        """A number, or the element of an array that belongs to an index of a larger one."""
        if not self.is_array(value):
            return value
        return self.load(value.kind.element, self.element(value, index[len(index) - value.kind.rank :]))

    def elementwise(self, make: Callable[..., Value], *values: Value) -> Value:
        """A new array of make(elements); numbers and shorter arrays are repeated along the axes in front."""
        for value in values:
            if not isinstance(value.kind, Array | Scalar) or not value.parts:
                self.fail(f"no arithmetic between an array and {value.kind}", "numbers or arrays of numbers")
        arrays = [value for value in values if self.is_array(value)]
        largest = max(arrays, key=lambda value: value.kind.rank)
        for other in arrays:
            self.same_shape(largest, other)
        shape = self.shape(largest)
        element = self._element_of(make, values)
        out = self.allocate(element, shape)
        self.each(
            shape, lambda at: self.store(element, self.element(out, at), make(*(self.item(v, at) for v in values)))
        )
        return out

    def _element_of(self, make: Callable[..., Value], values: tuple[Value, ...]) -> Scalar:
        """What make gives for elements of these: tried on numbers whose instructions are thrown away."""
        kept = len(self.lines), len(self.allocas), self.declared.copy()
        zero = {"i64": "0", "i1": "false", "double": double(0.0)}
        elements = (value.kind.element if self.is_array(value) else None for value in values)
        samples = [
            value if element is None else Value(element, [zero[part] for part in element.register])
            for value, element in zip(values, elements, strict=True)
        ]
        kind = make(*samples).kind
        del self.lines[kept[0] :]
        del self.allocas[kept[1] :]
        self.declared = kept[2]
        return kind

    def same_shape(self, large: Value, small: Value) -> None:
        """In checking mode: the axes of both agree from the last on."""
        if not self.checking or large is small:
            return
        lift = large.kind.rank - small.kind.rank
        for n, m in zip(self.shape(large)[lift:], self.shape(small), strict=True):
            if n != m:
                self.guard(self.op(f"icmp eq i64 {n}, {m}"), "arrays of different length")

    def copy(self, a: Value) -> Value:
        made = self.allocate(a.kind.element, self.shape(a))
        self.fill(made, a)
        return made

    def fill(self, target: Value, value: Value) -> None:
        """target[...] = value."""
        element = target.kind.element
        if not self.is_array(value):
            value = self.to(value, element)
        elif value.kind.rank > target.kind.rank:
            self.fail(f"{value.kind} does not fit into {target.kind}", "as many axes, or fewer")
        self._each_of(target, value, lambda place, item: self.store(element, place, item))

    def in_place(self, op: ast.operator, target: Value, value: Value) -> None:
        """target op= value."""
        element = target.kind.element
        if self.is_array(value) and value.kind.rank > target.kind.rank:
            self.fail(f"{value.kind} does not fit into {target.kind}", "as many axes, or fewer")

        def body(place: str, item: Value) -> None:
            self.store(element, place, self.arithmetic(op, self.load(element, place), item))

        self._each_of(target, value, body)

    def _each_of(self, target: Value, value: Value, body: Callable[[str, Value], Any]) -> None:
        """body(place, item) for each element of the target, as if the value were a copy: both may overlap."""
        shape, first, step = self.shape(target), "", ""
        if self.is_array(value):
            self.same_shape(target, value)
            if not value.fresh and not target.fresh:
                if target.kind.rank == 1 and target.kind.packed and value.kind.packed:
                    # Backwards, if what is read stands before what is written.
                    back = self.op(f"icmp ult ptr {value.parts[0]}, {target.parts[0]}")
                    first = self.op(f"select i1 {back}, i64 {self.sub(shape[0], '1')}, i64 0")
                    step = self.op(f"select i1 {back}, i64 -1, i64 1")
                else:
                    value = self.apart(target, value)

        def do(at: list[str]) -> None:
            at = [self.add(first, self.mul(at[0], step))] if first else at
            body(self.element(target, at), self.item(value, at))

        self.each(shape, do)

    def apart(self, target: Value, value: Value, in_order: bool = True) -> Value:
        """The value, or a copy if it overlaps with the target; the same view is no trouble if elements are written in
        the order in which they are read."""
        spans: list[tuple[str, str]] = []
        for a in (target, value):
            low, high = "0", "0"
            for n, stride in zip(self.shape(a), self.strides(a), strict=True):
                reach = self.mul(self.sub(n, "1"), stride)
                negative = self.op(f"icmp slt i64 {reach}, 0")
                low = self.add(low, self.op(f"select i1 {negative}, i64 {reach}, i64 0"))
                high = self.add(high, self.op(f"select i1 {negative}, i64 0, i64 {reach}"))
            start = f"getelementptr {a.kind.element.memory}, ptr {a.parts[0]}, i64"
            spans.append((self.op(f"{start} {low}"), self.op(f"{start} {high}")))
        (low, high), (other_low, other_high) = spans
        overlap = self.op(
            f"and i1 {self.op(f'icmp ule ptr {low}, {other_high}')}, {self.op(f'icmp ule ptr {other_low}, {high}')}"
        )
        if in_order and target.kind == value.kind:
            same = "true"
            for a, b, part in zip(target.parts, value.parts, parts_of(value.kind), strict=True):
                same = self.op(f"and i1 {same}, {self.op(f'icmp eq {part} {a}, {b}')}")
            overlap = self.op(f"and i1 {overlap}, {self.op(f'xor i1 {same}, true')}")
        return self.copy_if(overlap, value)

    def copy_if(self, condition: str, a: Value) -> Value:
        """The array, or a copy of it if the condition holds."""
        slots = [(part, self.slot(part)) for part in parts_of(a.kind)]

        def keep(value: Value) -> None:
            for (part, slot), x in zip(slots, value.parts, strict=True):
                self.out(f"store {part} {x}, ptr {slot}")

        keep(a)
        make, go = self.labels("copy", "go")
        self.branch(condition, make, go)
        self.start(make)
        keep(self.to(self.copy(a), a.kind))
        self.jump(go)
        self.start(go)
        return Value(a.kind, [self.op(f"load {part}, ptr {slot}") for part, slot in slots])

    # -- views --------------------------------------------------------------------------------------------------------

    def reshaped(self, a: Value, shape: list[Value]) -> Value:
        """A view with another shape; one length may be −1."""
        if not a.kind.packed:
            self.fail("an array with gaps cannot be reshaped", "copy it first: a.copy().reshape(…)")
        a = self._without_gaps(a)
        lengths = [length.parts[0] for length in shape]
        unknown = [k for k, length in enumerate(shape) if length.const == -1]
        if not 1 <= len(shape) <= 3 or len(unknown) > 1:
            self.fail("a shape has one to three lengths, one of them at most -1", "a.reshape(n, -1)")
        if unknown:
            known = "1"
            for k, text in enumerate(lengths):
                known = known if k in unknown else self.mul(known, text)
            lengths[unknown[0]] = self.arithmetic(
                ast.FloorDiv(), Value(INT, [self.size(a)]), Value(INT, [known])
            ).parts[0]
        made = self.view(a, a.parts[0], lengths)
        if self.checking:
            self.guard(self.op(f"icmp eq i64 {self.size(made)}, {self.size(a)}"), "reshape to another size")
        return made

    def _without_gaps(self, a: Value) -> Value:
        """The array, or a copy if its rows are not next to each other."""
        tight = self.make(a.kind.element, a.parts[0], self.shape(a))
        gaps = "false"
        for have, want in zip(self.strides(a), self.strides(tight), strict=True):
            if have != want:
                gaps = self.op(f"or i1 {gaps}, {self.op(f'icmp ne i64 {have}, {want}')}")
        return a if gaps == "false" else self.copy_if(gaps, a)

    def transposed(self, a: Value) -> Value:
        if a.kind.rank == 1:
            return a
        return self.view(a, a.parts[0], self.shape(a)[::-1], self.strides(a)[::-1])
