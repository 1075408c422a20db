"""Records: fields by name in both worlds, lengths, closures, kernels, outputs, and what is refused."""

import copy
import pickle

import casadi as ca
import numpy as np
import pytest

from dalembert.codegen import compile_function
from dalembert.errors import CompileError
from dalembert.native import native, plain, records


class Part(records.Record):
    weight = records.Real()
    count = records.Int()


class Sizes(records.Record):
    n, m = 2 * records.Int()


class Everything(records.Record):
    n, rows = 2 * records.Int()
    scale = records.Real()
    ready = records.Flag()
    sizes = records.Ref(Sizes)
    v = records.Vector("n")
    M = records.Matrix("rows", "n")
    C = records.ComplexMatrix("rows", "n")
    k = records.Integers("2*n - 1")
    on = records.Flags("n + rows//2")
    long = records.Vector("sizes.n * sizes.m")
    fixed = records.Vector(3)
    part = records.Ref(Part)


class Pieces(records.Outputs):
    a = records.Vector("n")
    s = records.Real()
    M = records.Matrix("rows", "n")
    rest = records.Vector("*")


class Machine(records.Record):
    n = records.Int()
    state = records.Vector("n")
    gain = records.Real()
    rate = records.Function(float, records.Vector, records.Vector)
    watch = records.Function(float, result=float)
    tell = records.Function(records.Vector, result=None)
    good = records.Function(int, result=bool)
    solve = records.Function(Pieces, records.Matrix, records.Integers)
    kernel = records.Kernel()


def everything(**more):
    made = Everything(n=3, rows=2, scale=0.5, ready=True, sizes=Sizes(n=2, m=4), part=Part(weight=2.0, count=7), **more)
    made.v[:] = [1.0, 2.0, 4.0]
    made.M[:] = np.arange(6.0).reshape(2, 3)
    made.C[:] = 1j * made.M
    made.k[:] = [5, 4, 3, 2, 1]
    made.on[:] = [True, False, True, True]
    made.long[:] = np.arange(8.0)
    return made


# -- fields -----------------------------------------------------------------------------------------------------------


def test_fields_of_one_kind_in_one_line_are_fields_of_their_own():
    class Line(records.Record):
        n, m = 2 * records.Int()
        v, w = 2 * records.Vector("n")

    class Lines(records.Record):
        n = records.Int()
        m = records.Int()
        v = records.Vector("n")
        w = records.Vector("n")

    assert Line.slot_of == Lines.slot_of == {"n": 0, "m": 1, "v": 2, "w": 3}
    assert Line.signature().partition(":")[2] == Lines.signature().partition(":")[2]
    line = Line(n=2, m=5)
    line.v[:] = 1.0
    assert (line.n, line.m, list(line.w)) == (2, 5, [0.0, 0.0])


@native
def read(e: Everything):
    lengths = len(e.v), e.M.shape, len(e.k), len(e.on), len(e.long), len(e.fixed)
    numbers = e.n, e.rows, e.scale, e.ready, e.part.weight, e.part.count, e.sizes.m
    return lengths, numbers, e.v[1], e.M[1, 2], e.k[-1], e.on[2], e.long[7], e.v + 1.0, e.M[:, 0].copy()


@native
def written(e: Everything):
    e.scale *= 3.0
    e.scale += e.v[0]
    e.part.count -= 2
    e.ready = e.scale > 100.0
    e.v[0] = 9.0
    e.v[1:] += e.v[:-1]
    e.M[1] = e.v
    e.M += 1.0
    e.C[1, 2] *= e.C[0, 1] + e.M[0, 0]
    e.k[0] = e.n
    e.on[:] = False
    e.on[1] = True
    p = e.part
    p.weight = float(p.count)
    e.n, e.scale = e.n, e.scale + 1.0


@native
def added(e: Everything, x: float):
    e.scale += bumped(e, x) + e.scale
    return e.scale


@native
def bumped(e: Everything, x: float):
    e.scale = 100.0
    return x


def test_native_code_reads_what_python_wrote():
    e = everything()
    lengths, numbers, *values = read(e)
    assert lengths == (3, (2, 3), 5, 4, 8, 3)
    assert numbers == (3, 2, 0.5, True, 2.0, 7, 4)
    assert values[:5] == [2.0, 5.0, 1, True, 7.0]
    assert values[5].tolist() == [2.0, 3.0, 5.0] and values[6].tolist() == [0.0, 3.0]


def test_both_ways_write_alike():
    one, other = everything(), everything()
    written(one)
    with plain():
        written(other)
    for mine, python in ((one, other), (one.part, other.part)):
        for name, value in mine.values().items():
            assert np.array_equal(value, python.values()[name]), name
    assert one.scale == 0.5 * 3.0 + 1.0 + 1.0 and one.part.weight == 5.0 and one.part.count == 5 and one.ready is False
    assert one.v.tolist() == [9.0, 11.0, 6.0] and one.on.tolist() == [False, True, False, False]


def test_a_field_is_read_before_the_other_side_changes_it():
    one, other = everything(), everything()
    with plain():
        wanted = added(other, 2.0)
    assert added(one, 2.0) == wanted == 102.5


def test_missing_arrays_are_made():
    e = Everything(n=2, rows=3, sizes=Sizes(n=1, m=5))
    shapes = {name: getattr(e, name).shape for name in ("v", "M", "k", "on", "long", "fixed")}
    assert shapes == {"v": (2,), "M": (3, 2), "k": (3,), "on": (3,), "long": (5,), "fixed": (3,)}
    assert e.v.dtype == np.float64 and e.k.dtype == np.int64 and e.on.dtype == np.bool_ and not e.v.any()
    assert e.part is None and e.scale == 0.0 and e.ready is False


def test_values_and_restore():
    e, other = everything(), everything()
    values = e.values()
    assert "part" not in values and values["scale"] == 0.5
    written(other)
    e.v[:] = 0.0
    assert values["v"].tolist() == [1.0, 2.0, 4.0]
    place = other.v.ctypes.data
    other.restore(values)
    assert other.v.ctypes.data == place and other.v.tolist() == [1.0, 2.0, 4.0] and other.scale == 0.5


def test_subclasses_have_the_fields_of_their_bases_first():
    class More(Part):
        extra = records.Real()

    assert list(More.fields) == ["weight", "count", "extra"]
    assert [More.slot_of[name] for name in More.fields] == [0, 1, 2]


# -- refused in Python ------------------------------------------------------------------------------------------------

WRONG = [
    ({"v": np.zeros(4)}, r"Everything.v\[n\] must be \(3,\), got \(4,\)"),
    ({"M": np.zeros((3, 2))}, r"Everything.M\[rows, n\] must be \(2, 3\), got \(3, 2\)"),
    ({"on": np.zeros(3, dtype=bool)}, r"Everything.on\[n \+ rows//2\] must be \(4,\)"),
    ({"long": np.zeros(3)}, r"Everything.long\[sizes.n \* sizes.m\] must be \(8,\)"),
    ({"v": np.zeros(3, dtype=np.float32)}, "must be an array of float64 with 1 axes, got float32 with 1 axes"),
    ({"v": np.zeros((3, 1))}, "Everything.v must be an array of float64 with 1 axes, got float64 with 2 axes"),
    ({"k": np.zeros(5)}, "Everything.k must be an array of int64"),
    ({"on": np.zeros(4)}, "Everything.on must be an array of bool"),
    ({"v": [1.0, 2.0, 3.0]}, "got list"),
    ({"v": np.zeros(6)[::2]}, "Everything.v must be an array without gaps.  Fix: np.ascontiguousarray"),
    ({"n": 2.5}, "Everything.n must be a whole number, got 2.5"),
    ({"scale": "long"}, "Everything.scale must be a number, got 'long'"),
    ({"part": Sizes()}, "Everything.part must be a Part, got"),
    ({"sizes": None}, r"Everything.long\[sizes.n \* sizes.m\]: 'sizes' is missing"),
    ({"nothing": 1}, "Everything has no field 'nothing'; it has n, rows"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "message"), WRONG, ids=[next(iter(values)) for values, _ in WRONG])
def test_wrong_values(values, message):
    given = {"n": 3, "rows": 2, "sizes": Sizes(n=2, m=4), **values}
    with pytest.raises(TypeError, match=message):
        Everything(**given)


def test_wrong_declarations():
    with pytest.raises(CompileError, match=r"Matrix takes 2 length\(s\), got 1"):
        records.Matrix("n")
    with pytest.raises(CompileError, match="only names of fields"):
        records.Vector("max(n, 2)")
    with pytest.raises(CompileError, match="is no type of native code"):
        records.Function(str)
    with pytest.raises(CompileError, match=r"cannot return vector of float.*Fix: let it fill an array"):
        records.Function(float, result=records.Vector)


def test_fields_of_bases_stay_where_they_are():
    """A function whose parameter names the base finds them there."""
    with pytest.raises(CompileError, match=r"Other has the field 'weight' of Part elsewhere or as something else.*Fix"):

        class Other(Part):
            weight = records.Vector(2)

    with pytest.raises(CompileError, match=r"Both has the field 'n' of Sizes elsewhere .*Fix: one base"):

        class Both(Part, Sizes):
            pass


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_records_are_not_copied(copied):
    """Native code would go on with the memory of the first one."""
    with pytest.raises(TypeError, match=r"Part holds addresses.*Fix: a record of its own"):
        copied(Part(weight=1.0))


# -- closures ---------------------------------------------------------------------------------------------------------


@native
def growth(p: Part, t, y, out) -> int:
    for i in range(len(y)):
        out[i] = p.weight * y[i] + t
    p.count += 1
    return 0


@native
def seen(m: Machine, t) -> float:
    return m.gain * t


@native
def reset(p: Part, x):
    x[0] = p.weight
    p.count = 0


@native
def enough(p: Part, n) -> bool:
    return p.count >= n


@native
def solution(p: Part, e: Pieces, M, places) -> int:
    e.a[0] = M[1, 0] + p.weight
    return places[1] + len(e.rest)


@native
def driven(m: Machine, numbers):
    out = np.zeros(m.n)
    s = m.rate(0.5, m.state, out)
    s += m.rate(1, out, out)
    total = m.watch(2.0)
    if m.tell:
        m.tell(out[1:])
    fine = m.good(2) and not m.good(3)
    there = bool(m.solve), m.rate is not None, m.kernel is None
    return s, out, total, fine, there


@native
def solved(m: Machine, numbers, places):
    e = Pieces(numbers[:2], 0.5, np.ones((2, 2)), numbers[2:])
    return m.solve(e, e.M, places), e.a[0]


def machine():
    part = Part(weight=2.0)
    m = Machine(n=2, gain=3.0)
    m.state[:] = [1.0, 4.0]
    m.set(rate=growth.bind(part), watch=seen.bind(m), tell=reset.bind(Part(weight=-7.0)), good=enough.bind(part))
    return m, part


def test_closures():
    results = []
    for mode in (False, True):
        m, part = machine()
        if mode:
            with plain():
                results.append(driven(m, m.state))
        else:
            results.append(driven(m, m.state))
        assert part.count == 2
    compiled, python = results
    assert compiled[1].tolist() == python[1].tolist() == [6.0, -7.0]
    assert compiled[0] == 0 and compiled[2:] == python[2:] == (6.0, True, (False, True, True))


def test_closures_take_outputs_and_matrices():
    m, part = machine()
    m.solve = solution.bind(part)
    numbers = np.arange(5.0)
    assert solved(m, numbers, np.array([3, 4])) == (7, 3.0)
    assert numbers[0] == 3.0


def test_closures_can_be_exchanged_and_removed():
    m, _ = machine()
    m.rate = growth.bind(Part(weight=0.0))
    assert driven(m, m.state)[1].tolist() == [1.0, -7.0]
    m.tell = None
    assert driven(m, m.state)[1].tolist() == [1.0, 1.0]


def test_closures_of_wrong_types():
    m, part = machine()
    with pytest.raises(CompileError, match="returns float, but the field wants int"):
        m.rate = wrong_result.bind(part)
    with pytest.raises(
        CompileError, match=r"`def growth.p: Part, t, y, out.`: 2 arguments are given.*Fix: 4, one for each parameter"
    ):
        m.watch = growth.bind(part)
    with pytest.raises(
        TypeError, match=r"Machine.rate must be a native function bound to a record.*Fix: function.bind"
    ):
        m.rate = growth


@native
def wrong_result(p: Part, t, y, out) -> float:
    return p.weight


def test_a_bound_function_can_be_called():
    part = Part(weight=2.0)
    out = np.zeros(2)
    assert growth.bind(part)(1.0, np.ones(2), out) == 0
    assert out.tolist() == [3.0, 3.0] and part.count == 1


# -- kernels and outputs ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kernel():
    x, y = ca.SX.sym("x", 2), ca.SX.sym("y")
    return compile_function("k", {"y": y, "x": x}, {"a": x * y, "b": ca.sin(x[0]) + y})


@native
def evaluated(m: Machine, t):
    first = m.kernel(t, m.state).copy()
    again = m.kernel(2.0 * t, first[:2])
    return first, again.copy(), m.kernel.outputs[2], len(again)


def test_kernels(kernel):
    m = Machine(n=2, kernel=kernel)
    m.state[:] = [0.5, 2.0]
    found = evaluated(m, 3.0)
    with plain():
        wanted = evaluated(m, 3.0)
    assert found[0][:2].tolist() == [1.5, 6.0] and found[1][:2].tolist() == [9.0, 36.0] and found[3] == 3
    for one, other in zip(found, wanted, strict=True):
        assert np.array_equal(one, other)
    m.kernel = None
    assert m.kernel is None
    with plain(), pytest.raises(TypeError, match=r"kernel 'k' takes 3 numbers, got 2"):
        Machine(n=1, kernel=kernel).kernel(1.0, np.zeros(1))


@native
def taken_apart(e: Everything, numbers):
    p = Pieces.of(e, numbers)
    p.a[0] += 10.0
    p.rest += p.rest
    p.rest *= 0.5
    p.M[1, 2] = p.s
    return p.a.sum(), p.s, p.M, p.rest, len(p.rest), p.M.shape


@native
def passed_on(e: Everything, numbers):
    return total(Pieces.of(e, numbers))


@native
def total(p: Pieces) -> float:
    return p.a[0] + p.s + p.M[0, 0] + p.rest[0]


@native
def returned(e: Everything, numbers):
    return Pieces.of(e, numbers)


def test_outputs():
    numbers, other = np.arange(13.0), np.arange(13.0)
    e = everything()
    found = taken_apart(e, numbers)
    with plain():
        wanted = taken_apart(e, other)
    assert np.array_equal(numbers, other)
    assert found[0] == wanted[0] == 13.0 and found[1] == 3.0 and found[4] == 3 and found[5] == (2, 3)
    assert np.array_equal(found[2], wanted[2]) and found[3].tolist() == wanted[3].tolist() == [10.0, 11.0, 12.0]
    assert passed_on(e, numbers) == 10.0 + 3.0 + 4.0 + 10.0
    whole = returned(e, numbers)
    assert isinstance(whole, Pieces) and whole.s == 3.0 and whole.M[1, 2] == 3.0
    assert total(whole) == 27.0


def test_outputs_stay_views():
    whole = returned(everything(), np.arange(13.0))
    with pytest.raises(TypeError, match=r"Pieces\.a is a view and stays one.  Fix: .*a\[:\] = "):
        whole.a = np.zeros(3)


def test_outputs_are_no_fields():
    with pytest.raises(TypeError, match="takes 4 values, got 1"):
        Pieces(1.0)


def test_lengths_that_were_seen_before_are_checked_all_the_same():
    """Records of one class and size share what is worked out about their lengths, and nothing else."""

    class Sized(records.Record):
        n, m = 2 * records.Int()
        a = records.Matrix("n", "n + m")
        b = records.Vector("m")

    first, again, other = Sized(n=2, m=1), Sized(n=2, m=1), Sized(n=1, m=3)
    assert [one.a.shape for one in (first, again, other)] == [(2, 3), (2, 3), (1, 4)]
    first.a[:], first.b[:] = 1.0, 2.0
    assert not again.a.any() and not again.b.any()
    for wrong in (np.zeros((2, 2)), np.zeros((3, 3))):
        with pytest.raises(TypeError, match=r"Sized\.a\[n, n \+ m\] must be \(2, 3\), got"):
            Sized(n=2, m=1, a=wrong)
