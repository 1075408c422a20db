"""Coefficients of minimax polynomials, to check those in the source."""

import itertools

import mpmath as mp


def minimax(f, weight, n, largest):
    """Coefficients of the polynomial P of n terms with the least max |weight (P - f)| on [0, largest].

    Remez exchange: solve for P whose weighted errors at n + 1 points are equal with alternating signs, move
    the points to the extrema of the error, repeat.
    """
    grid = [largest * (1 - mp.cos(mp.pi * (i + 0.5) / 1200)) / 2 for i in range(1200)]
    f_grid, weight_grid = [f(z) for z in grid], [weight(z) for z in grid]
    points = [int(1200 * (i + 0.5) / (n + 1)) for i in range(n + 1)]
    coefficients = mp.matrix(n + 1, 1)
    for _ in range(5):
        rows = [[grid[p] ** j for j in range(n)] + [(-1) ** i / weight_grid[p]] for i, p in enumerate(points)]
        coefficients = mp.lu_solve(mp.matrix(rows), mp.matrix([f_grid[p] for p in points]))
        descending = [coefficients[j] for j in range(n - 1, -1, -1)]
        error = [w * (mp.polyval(descending, z) - y) for z, w, y in zip(grid, weight_grid, f_grid, strict=True)]
        signs = [k for k in range(1, 1200) if error[k] * error[k - 1] < 0]
        pieces = itertools.pairwise([0, *signs, 1200])
        points = [max(range(*piece), key=lambda k: abs(error[k])) for piece in pieces]
        assert len(points) == n + 1
    return [float(coefficients[j]) for j in range(n)]
