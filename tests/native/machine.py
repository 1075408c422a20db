"""A record with a field of every kind, and functions that use them all."""

import casadi as ca
import numpy as np

from dalembert.codegen import compile_function
from dalembert.native import Flags, Function, Int, Integers, Kernel, Kernels, Matrix, Real, Record, Ref, Vector, native


class Part(Record):
    weight = Real()
    count = Int()


class Machine(Record):
    n, m = 2 * Int()
    state = Vector("n")
    M = Matrix("n", "n")
    order = Integers("n")
    on = Flags("n")
    nothing = Vector(0)
    part, other = 2 * Ref(Part)
    rate = Function(float, Vector, Vector)
    missing = Function(float)
    kernel = Kernel()
    row = Kernels("m")


@native
def growth(p: Part, t, y, out) -> int:
    for i in range(len(y)):
        out[i] = p.weight * y[i] + np.sin(t)
    p.count += 1
    return p.count


@native
def driven(c: Machine, t, out):
    status = c.rate(t, c.state, out)
    status += c.rate(2.0 * t, c.state[1:], out[1:])
    blocks = c.kernel(t, c.state)
    out += c.M @ c.state + blocks[: c.n]
    c.row[1].run(out, c.state)
    c.part.weight += 1.0
    c.order[0] = status
    c.on[1] = c.on[0] and not c.missing
    return status, out * 2.0, blocks.sum(), len(c.nothing)


@native
def large(n):
    """More memory than an arena begins with."""
    s = 0.0
    for k in range(n):
        a = np.full(50_000, float(k))
        b = a + 1.0
        c = np.tan(b)
        s += c[k] + b[49_999]
    return s, np.full(3, s)


def kernels():
    t, x = ca.SX.sym("t"), ca.SX.sym("x", 3)
    first = compile_function(
        "first", {"t": t, "x": x}, {"a": x * t + ca.tan(x), "b": ca.exp(x[0] / t) + ca.atan2(t, x[1])}
    )
    second = compile_function("second", {"x": x}, {"y": ca.vertcat(ca.sin(x[0]), x[1] ** 2.5, ca.fabs(x[2]))})
    return first, second


def machine():
    first, second = kernels()
    part = Part(weight=0.5, count=3)
    c = Machine(n=3, m=2, part=part, other=part, rate=growth.bind(part), kernel=first, row=[None, second])
    c.state[:] = [1.0, 2.0, -0.25]
    c.M[:] = np.cos(np.arange(9.0)).reshape(3, 3)
    c.on[:] = [True, False, True]
    return c
