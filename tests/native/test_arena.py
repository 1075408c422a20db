"""Memory: a loop gives back what a turn took, what is used later stays, chunks are returned, results are safe."""

import resource

import numpy as np
import pytest
from support.native import agree

from dalembert.native import native
from dalembert.native.arena import arena

# More than the first chunk of an arena, 1 MiB, holds.
LARGE = 300_000


@native
def temporaries(n):
    s = 0.0
    for i in range(n):
        x = np.full(100, 1.0)
        y = x * 2.0 + float(i % 3)
        s += y[i % 100]
    return s


@native
def in_the_test(n):
    x = np.full(100, float(n))
    k = 0
    while (x - float(k)).max() > 0.0:
        k += 1
    return k


@native
def inner_loops(n):
    # Arrays of the outer turn are needed by the inner one, names return in another loop.
    s = 0.0
    for i in range(n):
        w = np.full(50, float(i % 7))
        for j in range(2):
            v = w * float(j)
            s += v[0]
    for _ in range(n):
        w = np.full(50, 1.0)
        v = w + 1.0
        s += v[1]
    return s


@native
def left_early(n):
    s = 0.0
    for i in range(n):
        x = np.full(60, float(i))
        if i % 3 == 0:
            continue
        for j in range(10):
            y = x + float(j)
            if y[0] > 3.0:
                break
            s += y[1]
    return s


@native
def calls_in_a_loop(n):
    s = 0.0
    for i in range(n):
        s += made(i)[3] + used(i)
    return s


@native
def made(i):
    out = np.zeros(80)
    out[3] = float(i)
    return out


@native
def used(i):
    return made(i)[3]


@native
def moved(n):
    A = np.zeros((20, 20))
    for _ in range(n):
        A[1:] = A[:-1]
        A[0] = A[:, 1]
    return A[0, 0]


def peak():
    """Largest memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("function", [temporaries, inner_loops, left_early, calls_in_a_loop, moved])
def test_a_million_turns_do_not_grow(function):
    function(10)
    before = peak()
    function(1_000_000)
    assert peak() - before < 20


def test_a_test_that_allocates_does_not_grow():
    in_the_test(3)
    before = peak()
    assert in_the_test(200_000) == 200_000
    assert peak() - before < 20


@pytest.mark.parametrize("function", [temporaries, in_the_test, inner_loops, left_early, calls_in_a_loop])
def test_the_numbers_are_right(function):
    agree(function, 30)


# -- arrays that outlive a turn ---------------------------------------------------------------------------------------


@native
def carried(n):
    x = np.ones(4)
    for i in range(n):
        y = x * 0.5
        x = y + float(i)
    return x


@native
def last_one(n):
    for i in range(n):
        x = np.full(3, float(i))
        z = x + 1.0
        z[0] = 7.0
    return x, i


@native
def two_back(n):
    a, b = np.zeros(3), np.ones(3)
    for i in range(n):
        c = a + b * float(i)
        a, b = b, c
    return a, b


@native
def best_so_far(x, n):
    best, value = np.zeros(3), -1.0
    for i in range(n):
        trial = x + float((i * 7) % 5)
        waste = np.zeros(3)
        if trial[0] > value + waste[0]:
            best, value = trial, trial[0]
    return best, value


@native
def view_of_a_turn(n):
    tail = np.zeros(2)
    for i in range(n):
        x = np.full(5, float(i))
        x[4] = 100.0 + i
        if i == 2:
            tail = x[3:]
    return tail


@native
def only_sometimes(n):
    s = 0.0
    for i in range(n):
        if i % 2 == 0:
            x = np.full(3, float(i))
        else:
            s += x[0]
        y = np.full(3, -1.0)
        s += y[0]
    return s


@native
def in_a_pair(n):
    pair = (np.zeros(2), 0.0)
    for i in range(n):
        x = np.full(2, float(i))
        pair = (x, x[0])
        y = np.full(2, -1.0)
        y[0] = pair[1]
    return pair


@native
def read_by_the_test(n):
    x = np.full(3, float(n))
    k = 0
    while x[0] > 0.0:
        waste = np.full(3, 50.0)
        x = x - waste / 50.0
        k += 1
    return k, x


@native
def kept_by_break(n):
    found = np.zeros(2)
    for i in range(n):
        x = np.full(2, float(i))
        if i == 3:
            found = x
            break
    y = np.full(2, -5.0)
    return found, y


@native
def nested_keeping(n):
    row = np.zeros(3)
    for i in range(n):
        for j in range(3):
            t = row + float(i * j)
            if j == 1:
                row = t
        waste = np.full(3, 9.0)
        waste[0] += row[0]
    return row


@native
def announced(n):
    s, x = 0.0, np.zeros(3)
    for i in range(n):
        x: np.ndarray  # no value, so the one before stays
        waste = np.full(9 + 9 * i, -99.0)
        s += x[0] + waste[0]
        x = np.full(3, float(i))
    return s


@pytest.mark.parametrize("n", [4, 9])
@pytest.mark.parametrize(
    "function",
    [
        carried,
        last_one,
        two_back,
        view_of_a_turn,
        only_sometimes,
        in_a_pair,
        read_by_the_test,
        kept_by_break,
        nested_keeping,
        announced,
    ],
    ids=lambda function: function.__name__,
)
def test_arrays_that_outlive_a_turn(function, n):
    agree(function, n)


def test_the_best_is_kept():
    agree(best_so_far, np.arange(3.0), 20)


# -- chunks -----------------------------------------------------------------------------------------------------------


@native
def large(n):
    a = np.full(n, 1.0)
    b = np.full(n, 2.0)
    c = a + b
    return c[n - 1] + a[0] * b[n // 2], c


@native
def large_turns(n, turns):
    s = 0.0
    for i in range(turns):
        a = np.full(n, float(i))
        b = a + 1.0
        s += b[n - 1]
    t = np.full(4, s)
    return t


@native
def growing(n):
    s = 0.0
    for k in range(n):
        x = np.full(1000 * k + 1, 1.0)
        s += x.sum()
    return s


def test_chunks_beyond_the_first_are_used_and_given_back():
    value, c = large(LARGE)
    assert value == 5.0 and c.shape == (LARGE,) and np.all(c == 3.0)
    assert arena.slots[2] == 0
    before = peak()
    for _ in range(50):
        large(LARGE)
        assert arena.slots[2] == 0
    assert peak() - before < 20


def test_chunks_are_given_back_after_each_turn():
    large_turns(LARGE, 2)
    before = peak()
    assert large_turns(LARGE, 300).tolist() == [sum(range(1, 301))] * 4
    assert peak() - before < 20


def test_chunks_of_all_sizes():
    assert growing(400) == sum(1000 * k + 1 for k in range(400))


# -- results ----------------------------------------------------------------------------------------------------------


@native
def three(n):
    a = np.arange(n)
    b = np.full((2, n), 0.5)
    return a, b, b[:, 1]


def test_returned_arrays_stay_right():
    results = [(n, three(n)) for n in range(2, 40)]
    for n, (a, b, column) in results:
        assert a.tolist() == list(range(n)) and np.all(b == 0.5) and b.shape == (2, n) and column.tolist() == [0.5, 0.5]
        assert a.flags.owndata or a.base is not None
        a[:] = -1
    assert three(5)[0].tolist() == list(range(5))


@native
def same(x):
    return x


def test_returned_arguments_are_copies():
    x = np.arange(6.0)
    for view in (x, x[::2], x[::-1], x.reshape(2, 3), x.reshape(2, 3).T, x.reshape(2, 3)[::-1, ::-1]):
        found = same(view)
        assert np.array_equal(found, view) and not np.shares_memory(found, x)


def test_the_arena_is_reset_after_each_call():
    three(10)
    start = int(arena.slots[0])
    three(1000)
    assert arena.slots[0] == start
