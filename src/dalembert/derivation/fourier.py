"""The shortest form of a trigonometric polynomial: powers of sines and cosines, or sines and cosines of sums.

sin θ cos θ                        stays;  ½ sin 2θ is longer
cos θ₁ cos θ₂ + sin θ₁ sin θ₂      is  cos(θ₁ − θ₂)
1 − cos² θ                         is  sin² θ
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import sympy as sp
from sympy.polys.domains import QQ

from dalembert.derivation.trigonometric_field import WAVES, Angle, Budget

__all__ = ["Atom", "Term", "shortest"]

# A sine (1) or cosine (0) of Σ kᵢ θᵢ, and its power.
Atom = tuple[int, tuple[int, ...]]
Term = tuple[tuple[Atom, int], ...]  # product of atoms with powers, sorted
Wave = tuple[int, ...]

_ALL_SUBSETS = 4  # angles; of more only neighbors are tried
_LONGEST_WAVES = 256


def shortest(powers: dict[tuple[int, ...], Any], n: int, budget: Budget) -> dict[Term, Any]:
    """The form with the least cost.

    Args:
        powers: exponents (s₁, c₁, s₂, c₂, …) to coefficient, with s of degree 1 at most.
        n: number of angles.
    """
    best = _plain(_squares_of_sines(powers, n), n)
    used = [i for i in range(n) if any(m[2 * i] or m[2 * i + 1] for m in powers)]
    least = _cost(best)
    for subset in _subsets(used):
        budget.check(cost=WAVES)
        if sum(1 << sum(m[2 * i] + m[2 * i + 1] for i in subset) for m in powers) > _LONGEST_WAVES:
            continue
        trial = _halved(_waves(powers, subset, n))
        if (cost := _cost(trial)) < least:
            best, least = trial, cost
    return best


def _halved(terms: dict[Term, Any]) -> dict[Term, Any]:
    """cos 2φ → 1 − 2 sin² φ or 2 cos² φ − 1,  sin 2φ → 2 sin φ cos φ,  for sums φ, where that is shorter."""
    waves = {wave for term in terms for (_, wave), _ in term}
    for wave in sorted(waves):
        if sum(1 for k in wave if k) < 2 or any(k % 2 for k in wave):
            continue
        half = tuple(k // 2 for k in wave)
        s, c = (1, half), (0, half)
        for cosine in ([((), 1), (((s, 2),), -2)], [(((c, 2),), 2), ((), -1)]):
            trial = _replaced(terms, {(0, wave): cosine, (1, wave): [(((c, 1), (s, 1)), 2)]})
            if _cost(trial) < _cost(terms):
                terms = trial
    return terms


def _replaced(terms: dict[Term, Any], by: dict[Atom, list[tuple[Term, int]]]) -> dict[Term, Any]:
    """Terms with some atoms of degree one replaced by sums."""
    out: dict[Term, Any] = {}
    for term, value in terms.items():
        found = next((atom for atom, power in term if atom in by and power == 1), None)
        if found is None:
            parts: list[tuple[Term, int]] = [(term, 1)]
        else:
            rest = tuple(part for part in term if part[0] != found)
            parts = [(_product(rest, new), number) for new, number in by[found]]
        for new, number in parts:
            out[new] = out.get(new, QQ(0)) + value * number
    return {term: v for term, v in out.items() if v}


def _product(a: Term, b: Term) -> Term:
    powers: dict[Atom, int] = {}
    for atom, power in (*a, *b):
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items()))


def _subsets(used: list[int]) -> list[tuple[int, ...]]:
    if len(used) <= _ALL_SUBSETS:
        return [s for k in range(1, len(used) + 1) for s in itertools.combinations(used, k)]
    return [tuple(used[i:j]) for i in range(len(used)) for j in range(i + 1, len(used) + 1)]


def _cost(terms: dict[Term, Any]) -> int:
    """How long a form is to read."""
    total = 0
    for term, value in terms.items():
        total += 1 + (abs(value) != 1) + (value.denominator != 1) + (value < 0)
        for (_, wave), power in term:
            total += sum(1 + 2 * (abs(k) > 1) for k in wave if k) * power
    return total


def _squares_of_sines(powers: dict[tuple[int, ...], Any], n: int) -> dict[tuple[int, ...], Any]:
    """c² → 1 − s² for those angles where it makes fewer terms."""
    for i in range(n):
        if any(m[2 * i + 1] >= 2 for m in powers):
            trial: dict[tuple[int, ...], Any] = {}
            for m, v in powers.items():
                half, rest = divmod(m[2 * i + 1], 2)
                for k in range(half + 1):
                    new = (*m[: 2 * i], m[2 * i] + 2 * k, rest, *m[2 * i + 2 :])
                    trial[new] = trial.get(new, QQ(0)) + v * (-1) ** k * math.comb(half, k)
            trial = {m: v for m, v in trial.items() if v}
            if _cost(_plain(trial, n)) < _cost(_plain(powers, n)):
                powers = trial
    return powers


def _plain(powers: dict[tuple[int, ...], Any], n: int) -> dict[Term, Any]:
    out: dict[Term, Any] = {}
    for m, v in powers.items():
        term: list[tuple[Atom, int]] = []
        for i in range(n):
            unit = tuple(int(j == i) for j in range(n))
            term += [((kind, unit), m[2 * i + 1 - kind]) for kind in (0, 1) if m[2 * i + 1 - kind]]
        out[tuple(sorted(term))] = v
    return out


@functools.lru_cache(maxsize=4096)
def _harmonics(s: int, c: int) -> tuple[tuple[int, int, int], ...]:
    """2ˢ⁺ᶜ sˢ cᶜ = Σ (a + i b) e^{ikθ}  as (k, a, b), from  2 s = −i (z − 1/z)  and  2 c = z + 1/z."""
    series = {0: (1, 0)}
    for turn in [1] * s + [0] * c:
        out: dict[int, tuple[int, int]] = {}
        for k, (a, b) in series.items():
            for step in (1, -1):
                x, y = (step * b, -step * a) if turn else (a, b)
                p, q = out.get(k + step, (0, 0))
                out[k + step] = (p + x, q + y)
        series = out
    return tuple((k, a, b) for k, (a, b) in series.items() if a or b)


def _waves(powers: dict[tuple[int, ...], Any], subset: tuple[int, ...], n: int) -> dict[Term, Any]:
    """Products over some angles as sines and cosines of sums; the other angles keep their powers."""
    spectra: dict[tuple[int, ...], dict[Wave, tuple[Any, Any]]] = {}
    for m, v in powers.items():
        rest = tuple(0 if e // 2 in subset else p for e, p in enumerate(m))
        spectrum = spectra.setdefault(rest, {})
        v = v / 2 ** sum(m[2 * i] + m[2 * i + 1] for i in subset)
        for combination in itertools.product(*(_harmonics(m[2 * i], m[2 * i + 1]) for i in subset)):
            if next((k for k, _, _ in combination if k), 0) < 0:
                continue  # the conjugate of another
            wave = [0] * n
            a, b = 1, 0
            for i, (k, x, y) in zip(subset, combination, strict=True):
                wave[i] = k
                a, b = a * x - b * y, a * y + b * x
            key = tuple(wave)
            p, q = spectrum.get(key, (QQ(0), QQ(0)))
            spectrum[key] = (p + a * v if a else p, q + b * v if b else q)
    out: dict[Term, Any] = {}
    for rest, spectrum in spectra.items():
        (base,) = _plain({rest: QQ(1)}, n)
        for wave, (a, b) in spectrum.items():
            if not any(wave):
                parts = [((), a)]
            else:
                # (a + ib) e^{iφ} + (a − ib) e^{−iφ} = 2a cos φ − 2b sin φ
                parts = [((((0, wave), 1),), 2 * a), ((((1, wave), 1),), -2 * b)]
            for atoms, value in parts:
                if value:
                    term = tuple(sorted((*base, *atoms)))
                    out[term] = out.get(term, QQ(0)) + value
    return {term: v for term, v in out.items() if v}


def atom_expression(atom: Atom, angles: list[Angle]) -> sp.Expr:
    """The sine or cosine as an expression."""
    kind, wave = atom
    argument = sp.Add(*(k * angle.angle for k, angle in zip(wave, angles, strict=True) if k))
    return sp.sin(argument) if kind else sp.cos(argument)
