"""Long functions: cut into pieces they compute what they compute in one piece."""

import time

import casadi as ca
import numpy as np
import pytest

from dalembert.codegen import Kernel, compile_function
from dalembert.codegen.kernel_build import LONG, PIECE, PIECE_LEVEL_0, UNCUT, Build
from dalembert.codegen.plan import plan_pieces


def chain(n, terms):
    """Values that travel over many cuts: coupled, damped recursion with sin and cos of the same angle."""
    x = ca.SX.sym("x", n)
    v = ca.vertsplit(x)
    outputs = []
    for k in range(terms):
        i, j = k % n, (7 * k + 3) % n
        v[i] = 0.5 * ca.sin(v[i]) * ca.cos(v[j]) + 0.3 * ca.cos(v[i]) - 0.1 * v[j]
        if k % 50 == 0:
            outputs.append(v[i] + x[j])
    return {"x": x}, {"y": ca.vertcat(*outputs, *v)}


@pytest.fixture(scope="module")
def whole():
    return compile_function("chain", *chain(12, 400), cache=False, piece=10_000)


@pytest.mark.parametrize("piece", [1, 7, 100, 1000])
@pytest.mark.slow
def test_pieces_agree_with_the_whole(whole, piece):
    assert whole.n_work == 0
    cut = Kernel("cut", whole._tape, whole._layout_in, whole._layout_out, piece=piece, cache=False)
    assert cut.n_work > 0
    assert cut.n_work_batch == cut.n_work * cut.width
    states = np.random.default_rng(0).normal(size=(9, 12))
    # Fused multiply-adds differ where a cut separates the product from the sum; the recursion is damped.
    np.testing.assert_allclose(cut(states), whole(states), rtol=0, atol=1e-14)
    np.testing.assert_allclose(cut(states[0]), whole(states[0]), rtol=0, atol=1e-14)


def test_work_memory_is_reused(whole):
    """A value of the recursion lives for about 12 steps: the work vector stays near that size."""
    plan = plan_pieces(whole._tape, 20)
    assert len(plan.slot) > 200
    assert plan.n_work < 60
    last_use = {}
    for p, piece in enumerate(plan.pieces):
        for k in piece:
            if whole._tape.ops[k] not in ("input", "const"):
                for v in (whole._tape.a[k], whole._tape.b[k]):
                    last_use[v] = p
    piece_of = {k: p for p, piece in enumerate(plan.pieces) for k in piece}
    for v, slot in plan.slot.items():
        for w, other in plan.slot.items():
            if v < w and slot == other:
                assert last_use[v] < piece_of[w]


def test_long_function_is_cut_and_compiled_in_seconds():
    kernel = compile_function("long", *chain(40, 3000), cache=False)
    assert UNCUT < kernel.instructions < 30_000
    plan = Build(kernel._tape, False).plan()
    assert len(plan.pieces) == -(-kernel.instructions // PIECE)
    short = compile_function("short", *chain(40, PIECE // 10), cache=False)
    assert PIECE // 2 < short.instructions <= PIECE
    seconds = []
    for each in (short, kernel):
        start = time.process_time()
        assert each.address
        seconds.append((time.process_time() - start) / each.instructions)
    # About the same; ten times that only if the time grows faster than the length.
    assert seconds[1] < 10 * seconds[0]
    states = np.random.default_rng(0).normal(size=(3, 40))
    inputs, outputs = chain(40, 3000)
    reference = ca.Function("f", [inputs["x"]], [outputs["y"]])
    expected = np.array([np.array(reference(state)).ravel() for state in states])
    np.testing.assert_allclose(kernel(states), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(kernel(states[1]), expected[1], rtol=0, atol=1e-14)


def test_very_long_functions_are_compiled_at_level_0_in_small_pieces():
    inputs, outputs = chain(30, 5200)
    kernel = compile_function("very_long", inputs, outputs, cache=False)
    single, batch = Build(kernel._tape, False), Build(kernel._tape, True)
    assert len(kernel._tape.ops) > LONG
    assert (single.optimization(), batch.optimization()) == (0, 1)
    assert max(len(piece) for piece in single.plan().pieces) < 2 * PIECE_LEVEL_0
    state = np.random.default_rng(1).normal(size=30)
    expected = np.array(ca.Function("f", [inputs["x"]], [outputs["y"]])(state)).ravel()
    np.testing.assert_allclose(kernel(state), expected, rtol=0, atol=1e-14)
