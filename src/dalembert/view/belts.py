"""The line of a belt or a cable over its wheels: straight from wheel to wheel, and arcs around them.

With the axis n, signed radii ρ and the direction e of a straight part it touches a wheel at c + ρ e × n. From wheel i
to wheel j, d = c_j − c_i apart, with δ = ρ_j − ρ_i,  e = (ℓ d − δ n × d)/d²,  ℓ² = d² − δ². So does ``belts.js``.
"""

from __future__ import annotations

import numpy as np

__all__ = ["belt_line"]

ARC = 24  # points of an arc


def belt_line(centers: np.ndarray, radii: np.ndarray, axis: np.ndarray, closed: bool) -> np.ndarray:
    """Points of the line, in the order of the wheels; a cable ends at its first and last point, a belt is closed.

    Args:
        centers: (n, 3).
        radii: (n,), positive where the line runs counterclockwise about the axis, zero for points.
    """
    n, count = axis / np.linalg.norm(axis), len(centers)
    ways: list[np.ndarray] = []
    for i in range(count if closed else count - 1):
        j = (i + 1) % count
        d, delta = centers[j] - centers[i], radii[j] - radii[i]
        square = float(d @ d) or 1.0
        length = np.sqrt(max(square - delta * delta, 0.0))
        ways.append((length * d - delta * np.cross(n, d)) / square)
    line: list[np.ndarray] = []
    for i, (center, radius) in enumerate(zip(centers, radii, strict=True)):
        before, after = (ways[i - 1] if closed or i else ways[i]), (ways[i] if i < len(ways) else ways[i - 1])
        # Along the arc, in the sense of the radius: less than a turn, more than none.
        angle = np.arctan2(n @ np.cross(before, after), before @ after)
        turn = angle % (2 * np.pi) if radius > 0 else -(-angle % (2 * np.pi))
        out = radius * np.cross(before, n)
        for share in np.linspace(0, 1, ARC) if radius else (0.0,):
            c, s = np.cos(share * turn), np.sin(share * turn)
            line.append(center + c * out + s * np.cross(n, out))
    return np.array([*line, line[0]] if closed else line)
