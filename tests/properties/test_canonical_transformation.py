"""Canonical transformations: H. Goldstein, C. Poole, J. Safko, "Classical Mechanics", 3rd ed., ch. 9."""

from __future__ import annotations

import pytest
import sympy as sp

from dalembert.derivation.canonical_transformation import CanonicalTransformation, poisson_bracket
from dalembert.errors import DalembertError

q, p, Q, t = sp.symbols("q p Q t", real=True)
P, w = sp.symbols("P omega", positive=True)


def test_oscillator_to_action_and_angle():
    old = {q: sp.sqrt(2 * P / w) * sp.sin(Q), p: sp.sqrt(2 * P * w) * sp.cos(Q)}
    transformation = CanonicalTransformation.between(old, [q], [p], [Q], [P])
    H = p**2 / 2 + w**2 * q**2 / 2
    assert transformation.hamiltonian(H) == w * P
    assert transformation.equations(H) == ([w], [0])


def test_identity_and_exchange():
    same = CanonicalTransformation.generated(q * P, [q], [p], [Q], [P])
    assert same.old == {q: Q, p: P}
    exchange = CanonicalTransformation.between({q: -P, p: Q}, [q], [p], [Q], [P])
    assert exchange.hamiltonian(p**2) == Q**2


def test_turning_frame_has_coriolis_forces():
    """K = H − Ω (X P_Y − Y P_X);  Ẍ = Ω² X + 2 Ω Ẏ."""
    x, y, px, py, X, Y, PX, PY, W = sp.symbols("x y p_x p_y X Y P_X P_Y Omega", real=True)
    c, s = sp.cos(W * t), sp.sin(W * t)
    F2 = (c * x + s * y) * PX + (c * y - s * x) * PY
    turning = CanonicalTransformation.generated(F2, [x, y], [px, py], [X, Y], [PX, PY], t)
    H = (px**2 + py**2) / 2
    (dX, dY), (dPX, dPY) = turning.equations(H)
    ddX = sum(
        sp.diff(dX, symbol) * rate for symbol, rate in ((X, dX), (Y, dY), (PX, dPX), (PY, dPY))
    )  # dX names no time
    assert sp.simplify(ddX - (W**2 * X + 2 * W * dY)) == 0


def test_moving_frame_by_time_dependent_generator():
    """q = Q + v t: K = P²/2 − v P, so that Q̇ = P − v (Goldstein, eq. 9.9 with Galilei's F₂)."""
    v = sp.Symbol("v", real=True)
    moving = CanonicalTransformation.generated((q - v * t) * P, [q], [p], [Q], [P], t)
    assert sp.simplify(moving.hamiltonian(p**2 / 2) - (P**2 / 2 - v * P)) == 0


def test_generated_transformations_satisfy_their_brackets():
    made = CanonicalTransformation.generated(q * P + q**3 / 3 + P**2, [q], [p], [Q], [P])
    assert poisson_bracket(made.old[q], made.old[p], [Q], [P]) == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: CanonicalTransformation.between({q: P * sp.sin(Q), p: P * sp.cos(Q)}, [q], [p], [Q], [P]),
         r"not canonical: \{q, p\} = P instead of 1"),
        (lambda: CanonicalTransformation.between({q: 2 * Q, p: P}, [q], [p], [Q], [P]), "= 2 instead of 1"),
        (lambda: CanonicalTransformation.between({q: Q + t, p: P}, [q], [p], [Q], [P]), "t appears"),
        (lambda: CanonicalTransformation.generated(q + P, [q], [p], [Q], [P]), "generates nothing"),
        (lambda: CanonicalTransformation.generated(P * (q + sp.exp(q)) + sp.sin(P) * q**5, [q], [p], [Q], [P]),
         "no formula"),
        (lambda: CanonicalTransformation.generated(q * P, [q], [p], [Q], []), "as many q"),
    ],
)  # fmt: skip
def test_what_is_not_canonical_is_reported(make, words):
    with pytest.raises(DalembertError, match=words):
        make()
