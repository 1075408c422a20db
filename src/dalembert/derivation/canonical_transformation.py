"""Canonical transformations: other variables in which Hamilton's equations keep their form.

    p = ∂F₂/∂q,   Q = ∂F₂/∂P,   K = H + ∂F₂/∂t          from a generating function F₂(t, q, P)
    {Qᵢ, Qⱼ} = 0,   {Pᵢ, Pⱼ} = 0,   {Qᵢ, Pⱼ} = δᵢⱼ       what makes Q(t, q, p), P(t, q, p) canonical

Reference: H. Goldstein, C. Poole, J. Safko, "Classical Mechanics", 3rd ed., ch. 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import sympy as sp

from dalembert.errors import DalembertError

__all__ = ["CanonicalTransformation", "poisson_bracket"]


def poisson_bracket(f: sp.Expr, g: sp.Expr, q: Sequence[sp.Symbol], p: Sequence[sp.Symbol]) -> sp.Expr:
    """{f, g} = Σ ∂f/∂q ∂g/∂p − ∂f/∂p ∂g/∂q."""
    pairs = zip(q, p, strict=True)
    terms = [_diff(f, a) * _diff(g, b) - _diff(f, b) * _diff(g, a) for a, b in pairs]
    return _simple(sum(terms, sp.Integer(0)))


@dataclass(frozen=True)
class CanonicalTransformation:
    """Old variables q, p as functions of new ones Q, P and time; F is ∂F₂/∂t in the new variables.

    Made by :meth:`generated` from a generating function, or by :meth:`between` from formulas, which are checked.
    """

    q: tuple[sp.Symbol, ...]
    p: tuple[sp.Symbol, ...]
    Q: tuple[sp.Symbol, ...]
    P: tuple[sp.Symbol, ...]
    old: dict[sp.Symbol, sp.Expr]
    F: sp.Expr
    t: sp.Symbol

    @classmethod
    def generated(
        cls,
        F2: sp.Expr,
        q: Sequence[sp.Symbol],
        p: Sequence[sp.Symbol],
        Q: Sequence[sp.Symbol],
        P: Sequence[sp.Symbol],
        t: sp.Symbol | None = None,
    ) -> CanonicalTransformation:
        """From F₂(t, q, P); always canonical.

        Raises:
            DalembertError: if it does not determine q, because ∂²F₂/∂q∂P has no determinant, or no formula is found.
        """
        time = t if t is not None else sp.Symbol("t")
        _same_length(q, p, Q, P)
        F2 = sp.sympify(F2, strict=True)
        mixed = sp.Matrix([[sp.diff(F2, a, b) for b in P] for a in q])
        if _simple(mixed.det()) == 0:
            raise DalembertError(
                f"{F2} generates nothing: ∂²F₂/∂q∂P has no inverse, so that Q = ∂F₂/∂P does not determine q"
            )
        found = _solved([sp.diff(F2, b) - a for a, b in zip(Q, P, strict=True)], q, "Q = ∂F₂/∂P")
        old = dict(found)
        old |= {b: _simple(sp.diff(F2, a).xreplace(found)) for a, b in zip(q, p, strict=True)}
        rest = _simple(sp.diff(F2, time).xreplace(found))
        return cls(tuple(q), tuple(p), tuple(Q), tuple(P), old, rest, time)

    @classmethod
    def between(
        cls,
        old: dict[sp.Symbol, sp.Expr],
        q: Sequence[sp.Symbol],
        p: Sequence[sp.Symbol],
        Q: Sequence[sp.Symbol],
        P: Sequence[sp.Symbol],
    ) -> CanonicalTransformation:
        """From q and p as formulas of Q and P, without time.

        Raises:
            DalembertError: with the brackets that are wrong, if the formulas are not canonical.
        """
        _same_length(q, p, Q, P)
        values = {symbol: sp.sympify(old[symbol], strict=True) for symbol in (*q, *p)}
        strange = {s for value in values.values() for s in value.free_symbols if s in (*q, *p) or str(s) == "t"}
        if strange:
            raise DalembertError(
                f"old variables must be formulas of the new ones only, but {', '.join(sorted(map(str, strange)))} "
                f"appears. Fix: a generating function, if time is needed"
            )
        wrong: list[str] = []
        pairs = [(a, b) for i, a in enumerate((*q, *p)) for b in (*q, *p)[i + 1 :]]
        for a, b in pairs:
            bracket = poisson_bracket(values[a], values[b], Q, P)
            expected = int(a in q and b in p and list(q).index(a) == list(p).index(b))
            if _simple(bracket - expected) != 0:
                wrong.append(f"{{{a}, {b}}} = {bracket} instead of {expected}")
        if wrong:
            raise DalembertError(f"not canonical: {'; '.join(wrong)}")
        return cls(tuple(q), tuple(p), tuple(Q), tuple(P), values, sp.Integer(0), sp.Symbol("t"))

    def hamiltonian(self, H: sp.Expr) -> sp.Expr:
        """K(t, Q, P) = H + ∂F₂/∂t, in the new variables."""
        return _simple(sp.sympify(H, strict=True).xreplace(self.old) + self.F)

    def equations(self, H: sp.Expr) -> tuple[list[sp.Expr], list[sp.Expr]]:
        """Q̇ = ∂K/∂P and Ṗ = −∂K/∂Q."""
        K = self.hamiltonian(H)
        return [_simple(sp.diff(K, P)) for P in self.P], [_simple(-sp.diff(K, Q)) for Q in self.Q]


def _simple(value: Any) -> Any:
    return cast(Any, sp.simplify(value))


def _diff(value: Any, symbol: sp.Symbol) -> Any:
    return cast(Any, sp.diff(value, symbol))


def _same_length(*groups: Sequence[sp.Symbol]) -> None:
    sizes = [len(group) for group in groups]
    if len(set(sizes)) != 1:
        raise DalembertError(f"as many q as p, Q and P are needed, got {', '.join(map(str, sizes))}")


def _solved(equations: list[sp.Expr], unknowns: Sequence[sp.Symbol], what: str) -> dict[sp.Symbol, sp.Expr]:
    try:
        solutions = cast(list[dict[Any, Any]], sp.solve(equations, list(unknowns), dict=True))
    except NotImplementedError:
        solutions = []
    if not solutions or any(symbol not in solutions[0] for symbol in unknowns):
        names = ", ".join(map(str, unknowns))
        raise DalembertError(
            f"no formula for {names} is found from {what}. Fix: give the old variables as formulas of the new ones, "
            f"CanonicalTransformation.between"
        )
    return {symbol: _simple(solutions[0][symbol]) for symbol in unknowns}
