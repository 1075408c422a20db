"""Random planar mechanisms by nodes: chains of bars, blocks and discs, closed by pins, slides and slots."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.planar import Planar

__all__ = ["random_planar"]

MOST_CHAINS, MOST_BODIES, MOST_FORCES = 2, 3, 3
TURNS = 0.4  # share of bars that carry a third node


class _Drawing:
    """A mechanism in the making.

    Attributes:
        ends: of the chains: a node of a body, and where it is drawn.
        nodes: all nodes of bodies.
        pinned: nodes that are one.
    """

    def __init__(self, seed: int):
        self.rng = np.random.default_rng([seed, 7])
        self.planar = Planar(f"planar {seed}", gravity=(0, -9.81) if self.rng.random() < 0.8 else (0, 0))
        self.ends: list[tuple[str, np.ndarray]] = []
        self.nodes: list[str] = []
        self.pinned: list[set[str]] = []
        self.count = 0

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def base(self, at: np.ndarray) -> str:
        name = self.name("O")
        self.planar.base(**{name: _pair(at)})
        return f"base.{name}"

    def way(self, length: float = 1.0) -> np.ndarray:
        angle = self.rng.uniform(0, 2 * np.pi)
        return length * np.array([np.cos(angle), np.sin(angle)])

    def body(self, at: np.ndarray, end: np.ndarray) -> str:
        """A bar from one place to another."""
        rng, name = self.rng, self.name("b")
        nodes = {"A": _pair(at), "B": _pair(end)}
        if rng.random() < TURNS:
            nodes["C"] = _pair((at + end) / 2 + self.way(0.3))
        com: Any = [None, "A", (rng.uniform(-0.2, 1.2), rng.uniform(-0.5, 0.5))][int(rng.integers(3))]
        self.planar.body(name, mass=rng.uniform(0.5, 2), inertia=rng.uniform(0.02, 0.2), com=com, nodes=nodes)
        self.nodes += [f"{name}.{node}" for node in nodes]
        return name

    def torque(self) -> str | None:
        return f"{self.rng.normal():.3f} + {self.rng.uniform(0, 1):.3f}*sin(3*t)" if self.rng.random() < 0.3 else None

    def join(self, first: str, second: str, body: str, at: np.ndarray) -> None:
        """A joint at a node of the chain; the second body's node is drawn there."""
        kind, name, owner = self.rng.choice(["pin", "pin", "pin", "slide", "slot"]), self.name("J"), _body(first)
        axis = _pair(self.way())
        if kind == "pin":
            self.planar.revolute(name, first, second, torque=self.torque())
            self.pinned.append({first, second})
        elif kind == "slide":
            force = f"-{self.rng.uniform(0, 2):.3f}*{name}.speed" if self.rng.random() < 0.5 else None
            self.planar.prismatic(name, owner, second, axis=axis, force=force)
        else:
            self.planar.pin_in_slot(name, owner, second, axis=axis)

    def chain(self) -> None:
        at = self.rng.normal(size=2)
        first = self.base(at)
        for _ in range(int(self.rng.integers(1, MOST_BODIES + 1))):
            end = at + self.way(self.rng.uniform(0.4, 1.2))
            body = self.body(at, end)
            self.join(first, f"{body}.A", body, at)
            first, at = f"{body}.B", end
        self.ends.append((first, at))

    def disc(self) -> None:
        """It rolls on a line of the base, or with another one on top or inside."""
        r, at, way = self.rng.uniform(0.2, 0.6), 3 * self.rng.normal(size=2), self.way()
        name = self.name("d")
        self.planar.body(name, mass=1.0, inertia=0.3 * r * r, nodes={"c": _pair(at)})
        self.planar.rolling_on_line(self.name("R"), f"{name}.c", r, axis=_pair(way))
        self.nodes.append(f"{name}.c")
        if self.rng.random() < 0.5:
            inside, small = bool(self.rng.random() < 0.5), r * self.rng.uniform(0.3, 0.7)
            other = self.name("d")
            place = at + self.way(r - small if inside else r + small)
            self.planar.body(other, mass=0.5, inertia=0.1 * small**2, nodes={"c": _pair(place)})
            self.planar.rolling_on_disc(self.name("R"), f"{name}.c", f"{other}.c", (r, small), inside=inside)
            self.nodes.append(f"{other}.c")

    def close(self) -> None:
        """The ends of two chains on each other, through a bar, or one of them on the base."""
        node, at = self.ends[0]
        if len(self.ends) == 2 and self.rng.random() < 0.7:
            other, there = self.ends[1]
            body = self.body(at, there)
            self.join(node, f"{body}.A", body, at)
            self.planar.revolute(self.name("J"), other, f"{body}.B")
            self.pinned.append({other, f"{body}.B"})
        elif self.rng.random() < 0.5:
            self.planar.revolute(self.name("J"), self.base(at), node)
        else:
            self.planar.pin_in_slot(self.name("J"), "base", node, axis=_pair(self.way()))

    def force(self) -> None:
        node, other = self.rng.choice(self.nodes, 2)
        kind = self.rng.integers(3)
        if kind == 0 and _body(node) != _body(other) and not any({node, other} & pin == pin for pin in self.pinned):
            k, c = self.rng.uniform(1, 30), self.rng.uniform(0, 1)
            self.planar.spring(self.name("K"), str(node), str(other), stiffness=k, damping=c, length=0.7)
        elif kind == 1:
            self.planar.force(self.name("F"), str(node), (f"{self.rng.normal():.3f} - 0.3*{node}.vx", "sin(2*t)"))
        else:
            k = self.rng.uniform(1, 10)
            self.planar.spring(self.name("K"), self.base(self.rng.normal(size=2)), str(node), stiffness=k)


def _pair(at: np.ndarray) -> tuple[float, float]:
    return float(at[0]), float(at[1])


def _body(node: str) -> str:
    return node.partition(".")[0]


def random_planar(seed: int) -> Planar:
    """A planar mechanism that fits as drawn; it may have no freedom left."""
    drawing = _Drawing(seed)
    for _ in range(int(drawing.rng.integers(1, MOST_CHAINS + 1))):
        drawing.chain()
    if drawing.rng.random() < 0.7:
        drawing.close()
    if drawing.rng.random() < 0.3:
        drawing.disc()
    for _ in range(int(drawing.rng.integers(0, MOST_FORCES + 1))):
        drawing.force()
    return drawing.planar
