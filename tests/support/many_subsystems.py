"""Systems of many subsystems: rows of slider-cranks in groups, and chains of which every link holds the rest."""

from __future__ import annotations

from itertools import pairwise

from sympy import cos, sin

import dalembert as da

__all__ = ["nest", "row", "slider_crank"]


def slider_crank(mark: str) -> da.Subsystem:
    """A crank, a rod and a slider. The mark makes it another subsystem than those with other marks."""
    S = da.Subsystem("slider_crank")
    m, inertia, r, l, _ = S.parameters(m=1.0, I=0.1, r=0.3, l=1.0, **{mark: 0})
    th, ph, x = S.coordinates("th ph x")
    S.invariants(r * cos(th) + l * cos(ph) - x, r * sin(th) - l * sin(ph))
    S.effective_forces({x: -m * x.dd, th: -inertia * th.dd, ph: -0.1 * inertia * ph.dd})
    S.guess({th: 0.6, ph: 0.17, x: 1.23})
    return S


def row(n: int, mark: str, group_size: int, tied: bool = False) -> tuple[da.Subsystem, list[da.Subsystem]]:
    """n slider-cranks in groups, each tied to the next, no two of them equal; and all of them.

    Args:
        tied: the last of each group is tied to the first of the next one, too.
    """
    parts = [slider_crank(f"{mark}_{k}") for k in range(n)]
    root = da.Subsystem("row")
    k = root.parameters(k=10.0)
    groups = []
    for g in range(0, n, group_size):
        group = da.Subsystem(f"group{g}")
        stiffness = group.parameters(k=10.0)
        views = [group.include(part, f"s{i}") for i, part in enumerate(parts[g : g + group_size])]
        for a, b in pairwise(views):
            group.effective_forces({a.th: -stiffness * (a.th - b.th), b.th: -stiffness * (b.th - a.th)})
        groups.append(root.include(group, f"g{g}", parameters={"k": k}))
    for a, b in pairwise(groups) if tied else ():
        last = getattr(a, f"s{group_size - 1}")
        root.effective_forces({last.th: -k * (last.th - b.s0.th), b.s0.th: -k * (b.s0.th - last.th)})
    return root, parts


def nest(n: int, mark: str = "plain") -> tuple[da.Subsystem, da.Subsystem]:
    """A chain of n links: each holds the next, which hangs on it; and the innermost."""
    link = da.Subsystem("link")
    m, inertia, _a, _ = link.parameters(m=1.0, I=0.1, a=1.0, **{mark: 0})
    x, y, th = link.coordinates("x y th")
    link.effective_forces({x: -m * x.dd, y: -m * y.dd - 9.8 * m, th: -inertia * th.dd})
    inner = last = None
    for k in reversed(range(n)):
        S = da.Subsystem(f"n{k}")
        px, py = S.coordinates("p.x p.y")
        p = S.include(link, "l")
        S.invariants(p.x - px - p.a / 2 * cos(p.th), p.y - py - p.a / 2 * sin(p.th))
        if inner is not None:
            q = S.include(inner, "rest")
            S.invariants(q.p.x - px - p.a * cos(p.th), q.p.y - py - p.a * sin(p.th))
        S.guess({p.th: -1.0})
        inner, last = S, last or S
    assert inner is not None and last is not None
    inner.invariants(inner.p.x, inner.p.y)
    return inner, last
