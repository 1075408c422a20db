"""A clean drawing of a planar mechanism at any time: links, pins, grounds, guides, slots, paths of nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ViewError
from dalembert.planar import planar_symbols as symbols
from dalembert.planar.planar_data import BASE, PinInSlot, PrismaticJoint, RevoluteJoint
from dalembert.planar.planar_geometry import Drawn, ends, radii_of
from dalembert.planar.planar_names import bare_name
from dalembert.planar.planar_poses import Poses, poses_at, poses_of
from dalembert.view import PALETTE
from dalembert.view.figures import with_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dalembert.planar.planar_mechanism import Planar

__all__ = ["draw"]

INK, MUTED, RAIL, ACCENT = "#1f2933", "#616e7c", "#9aa5b1", "#b3261e"
LINK = 0.017  # half width of a link, in parts of the drawing's extent
REACH = 0.28  # half length of a guide whose travel is not known


@dataclass
class Options:
    """What is drawn besides the mechanism.

    Attributes:
        paths: nodes whose way through the run is drawn.
        labels: names of bodies and inputs.
        ghosts: number of other positions of the run that are hinted at.
        title: heading.
        size: of the longer side of the figure (inches).
    """

    paths: tuple[Any, ...] | list[Any] = field(default_factory=tuple)
    labels: bool = True
    ghosts: int = 0
    title: str | None = None
    size: float = 7.0


def draw(planar: Planar, path: Any, at: Any, time: float | None, **options: Any) -> Figure:
    """See ``Planar.draw``."""
    known = Options.__dataclass_fields__
    unknown = [key for key in options if key not in known]
    if unknown:
        raise ViewError(f"draw: unknown option {unknown[0]!r}.  Fix: one of {', '.join(known)}")
    planar.validate()
    at = getattr(at, "motion", at)  # of inverse dynamics
    picture = _Picture(planar, poses_at(planar, at, time), poses_of(planar, at), Options(**options))
    return with_file(picture.figure(), path)


class _Picture:
    """One drawing.

    Args:
        now: poses to draw.
        run: poses of a whole run, or None.
    """

    def __init__(self, planar: Planar, now: Poses, run: Poses | None, options: Options):
        self.planar, self.now, self.run, self.options = planar, now, run, options
        self.drawn = Drawn(planar)
        self.r = LINK * self.drawn.extent
        self.color = {body.name: body.color or PALETTE[i % len(PALETTE)] for i, body in enumerate(planar.bodies)}
        self.color[BASE] = RAIL
        self.slots = {joint.slot for joint in planar.joints if isinstance(joint, PinInSlot)}
        self.discs = {node: r for contact in planar.contacts for node, r in radii_of(contact).items()}

    def figure(self) -> Figure:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(dpi=150, layout="constrained", facecolor="white")
        FigureCanvasAgg(figure)
        self.axes: Axes = figure.subplots()
        self.axes.set_aspect("equal")
        self.axes.set_axis_off()
        self.ghosts()
        self.lines()
        self.guides()
        self.springs()
        for level, body in enumerate(self.planar.bodies):
            self.body(body, 10 + 2 * level)
        self.sliders()
        self.pins()
        self.inputs()
        self.paths()
        if self.options.labels:
            self.labels()
        self.frame(figure)
        title = self.planar.name if self.options.title is None else self.options.title
        if title:
            figure.suptitle(title, x=0.02, ha="left", color=INK, fontsize=13, fontweight="bold", parse_math=False)
        return figure

    # Primitives

    def fill(self, outline: Any, face: Any, edge: Any, order: float, width: float = 1.4, hole: Any = None) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path as Outline

        loops = [np.asarray(loop) for loop in ([outline] if hole is None else [outline, hole])]
        points = np.concatenate([np.vstack([loop, loop[:1]]) for loop in loops])
        codes = [c for loop in loops for c in [Outline.MOVETO, *[Outline.LINETO] * (len(loop) - 1), Outline.CLOSEPOLY]]
        patch = PathPatch(Outline(points, codes), facecolor=face, edgecolor=edge, linewidth=width, zorder=order)
        patch.set_joinstyle("round")
        # As a patch, its limits would be sought piece by piece.
        self.axes.add_artist(patch)
        self.axes.update_datalim(points)

    def line(self, points: Any, color: Any, order: float, width: float = 1.4, **style: Any) -> None:
        x, y = np.asarray(points).T
        style = {"solid_capstyle": "round", "solid_joinstyle": "round", **style}
        self.axes.plot(x, y, color=color, linewidth=width, zorder=order, **style)

    def hatch(self, start: Any, end: Any, order: float) -> None:
        for stroke in symbols.hatching(np.asarray(start), np.asarray(end), 0.9 * self.r, 0.85 * self.r):
            self.line(stroke, RAIL, order, 1.0)

    def write(self, place: Any, text: str, color: Any, size: float = 9.0, **style: Any) -> None:
        from matplotlib import patheffects

        x, y = (float(part) for part in place)
        drawn = self.axes.text(x, y, text, color=color, fontsize=size, zorder=60, parse_math=False, **style)
        drawn.set_path_effects([patheffects.withStroke(linewidth=2.5, foreground="white")])

    # Bodies

    def body(self, body: Any, order: float) -> None:
        color = self.color[body.name]
        places = [self.now.node(f"{body.name}.{name}") for name in body.nodes]
        for name, place in zip(body.nodes, places, strict=True):
            if f"{body.name}.{name}" in self.discs:
                self.disc(f"{body.name}.{name}", place, color, order - 1)
        single = len(places) == 1
        if single and not self.sliding(body.name) and f"{body.name}.{next(iter(body.nodes))}" not in self.discs:
            self.fill(symbols.circle(places[0], 1.5 * self.r), symbols.lighter(color, 0.30), color, order)
        for outline in self.outlines(body, places):
            self.fill(outline, symbols.lighter(color, 0.30), color, order)
        for joint in self.planar.joints:
            if isinstance(joint, PinInSlot) and joint.slot == body.name:
                start, end = self.travel(joint)
                self.fill(symbols.capsule(start, end, 0.85 * self.r), "white", color, order + 0.5, 1.1)
        if not single:
            self.center(body, order + 1)

    def outlines(self, body: Any, places: list[Any]) -> list[Any]:
        """A bar or plate through nodes and center of mass, and what surrounds slots beside them."""
        found: list[Any] = []
        own = any(isinstance(j, PinInSlot) and j.slot == body.name and j.axis is None for j in self.planar.joints)
        if len(places) > 1:
            corners = np.array([*places, self.now.com(body.name)])
            found.append(symbols.rounded(corners, self.r * (1.75 if own else 1.0)))
        for joint in self.planar.joints:
            if isinstance(joint, PinInSlot) and joint.slot == body.name and joint.axis is not None:
                start, end = self.travel(joint)
                along = (end - start) / np.hypot(*(end - start))
                way = np.clip((places[0] - start) @ along, 0.0, np.hypot(*(end - start)))
                found.append(symbols.capsule(places[0], start + way * along, 0.8 * self.r))
                found.append(symbols.capsule(start, end, 1.75 * self.r))
        return found

    def sliding(self, body: str) -> bool:
        return any(isinstance(joint, PrismaticJoint) and ends(joint)[1] == body for joint in self.planar.joints)

    def disc(self, node: str, place: Any, color: str, order: float) -> None:
        radius = self.drawn.value(self.discs[node])
        inside = [c for c in self.planar.contacts if getattr(c, "inside", False) and c.centers[0] == node]
        angle = self.now.angle(node.partition(".")[0])
        spoke = place + radius * np.array([math.cos(angle), math.sin(angle)])
        if inside:
            outer, inner = symbols.annulus(place, radius, radius + 1.2 * self.r)
            self.fill(outer, symbols.lighter(color, 0.30), color, order - 5, hole=inner)
            tip = place + (radius + 1.2 * self.r) * np.array([math.cos(angle), math.sin(angle)])
            self.line([spoke, tip], color, order - 4, 2.0)
            return
        self.fill(symbols.circle(place, radius), (*symbols.lighter(color, 0.22), 0.9), color, order)
        self.line([place, spoke], color, order + 0.3, 1.2)

    def center(self, body: Any, order: float) -> None:
        """The quartered disc of a center of mass."""
        if self.drawn.value(body.mass) <= 0:
            return
        place, radius, angle = self.now.com(body.name), 0.5 * self.r, self.now.angle(body.name)
        self.fill(symbols.circle(place, radius), "white", INK, order, 0.7)
        for quarter in (0, 1):
            start = float(angle) + quarter * np.pi
            turns = start + np.linspace(0.0, np.pi / 2, 8)
            arc = np.vstack([place, place + radius * np.stack([np.cos(turns), np.sin(turns)], axis=1)])
            self.fill(arc, INK, "none", order + 0.1, 0.0)

    # Lines, guides and slots

    def travel(self, joint: Any) -> tuple[Any, Any]:
        """Ends of the line along which a joint slides: its travel in the run, or the nodes of its body."""
        first, slider = ends(joint)[0], self.drawn.slider(joint)
        e = np.array([self.drawn.value(part) for part in self.drawn.axis(joint)])
        place = np.array(self.drawn.point(slider))
        ways = [float(self.now.slide(joint, e))]
        if self.run is not None:
            ways += [float(np.min(self.run.slide(joint, e))), float(np.max(self.run.slide(joint, e)))]
            low, high = min(ways), max(ways)
        else:
            low, high = ways[0], ways[0]
        if isinstance(joint, PinInSlot) and joint.axis is None:
            inner = [
                float((np.array(self.drawn.point(f"{first}.{n}")) - place) @ e)
                for n in list(self.drawn.nodes(first))[:2]
            ]
            low, high = min(low, inner[0] + 2.4 * self.r), max(high, inner[1] - 2.4 * self.r)
        else:
            reach = 3 * self.r if self.run is not None else REACH * self.drawn.extent
            low, high = low - reach, high + reach
            # A guide reaches to those nodes of its body that lie on it.
            arms = [
                np.array(self.drawn.point(f"{first}.{n}")) - place for n in self.drawn.nodes(first) if first != BASE
            ]
            ways = [float(arm @ e) for arm in arms if abs(e[0] * arm[1] - e[1] * arm[0]) < self.r]
            low, high = min([low, *ways]), max([high, *ways])
        return self.now.fixed(first, place + low * e), self.now.fixed(first, place + high * e)

    def guides(self) -> None:
        for joint in self.planar.joints:
            first = ends(joint)[0]
            if isinstance(joint, PrismaticJoint):
                start, end = self.travel(joint)
                if joint.point is not None:
                    e = (end - start) / np.hypot(*(end - start))
                    place = self.now.fixed(first, np.array([self.drawn.value(part) for part in joint.point]))
                    normal = np.array([-e[1], e[0]])
                    shift = ((place - start) @ normal) * normal
                    start, end = start + shift, end + shift
                if first == BASE:
                    self.rail(start, end)
                else:
                    self.fill(symbols.capsule(start, end, 0.35 * self.r), self.color[first], "none", 8.0, 0.0)
            elif isinstance(joint, PinInSlot) and first == BASE:
                start, end = self.travel(joint)
                self.fill(symbols.capsule(start, end, 0.95 * self.r), "white", RAIL, 2.0, 1.3)
                e = (end - start) / np.hypot(*(end - start))
                below = 0.95 * self.r * np.array([e[1], -e[0]])
                self.hatch(start + below, end + below, 1.5)

    def rail(self, start: Any, end: Any) -> None:
        """Below the block, on the right side of the direction, turned so that hatching points down or right."""
        e = (end - start) / np.hypot(*(end - start))
        if e[0] < -1e-9 or (abs(e[0]) <= 1e-9 and e[1] < 0):
            start, end, e = end, start, -e
        below = 1.35 * self.r * np.array([e[1], -e[0]])
        self.line([start + below, end + below], MUTED, 3.0, 1.4)
        self.hatch(start + below, end + below, 2.5)

    def lines(self) -> None:
        """Lines on which discs roll."""
        for contact in self.planar.contacts:
            if hasattr(contact, "centers"):
                continue
            e = np.array([self.drawn.value(part) for part in self.drawn.unit(contact.axis)])
            below = self.drawn.value(contact.radius) * np.array([e[1], -e[0]])
            place = np.array(self.drawn.point(contact.center)) + below
            poses = [self.now] if self.run is None else [self.now, self.run]
            ways = np.concatenate([np.atleast_1d(pose.way(contact.line, contact.center, place, e)) for pose in poses])
            reach = self.drawn.value(contact.radius) + 2 * self.r
            start, end = (self.now.fixed(contact.line, place + s * e) for s in (ways.min() - reach, ways.max() + reach))
            self.line([start, end], MUTED if contact.line == BASE else self.color[contact.line], 3.0, 1.6)
            if contact.line == BASE:
                self.hatch(start, end, 2.5)

    def springs(self) -> None:
        for spring in self.planar.springs:
            first, second = (self.now.node(node) for node in spring.nodes)
            self.line(symbols.zigzag(first, second, 0.8 * self.r), MUTED, 29.0, 1.3)

    # Joints

    def sliders(self) -> None:
        for joint in self.planar.joints:
            if not isinstance(joint, PrismaticJoint):
                continue
            first, second = ends(joint)
            e = np.array([self.drawn.value(part) for part in self.drawn.axis(joint)])
            along = self.now.fixed(first, e) - self.now.fixed(first, np.zeros(2))
            outline = symbols.block(self.now.node(self.drawn.slider(joint)), along, 5.0 * self.r, 2.7 * self.r)
            self.fill(outline, symbols.lighter(self.color[second], 0.30), self.color[second], 30.0)

    def pins(self) -> None:
        fixed: set[tuple[float, ...]] = set()
        for joint in self.planar.joints:
            if isinstance(joint, PinInSlot):
                color = self.color[joint.pin.partition(".")[0]]
                self.fill(symbols.circle(self.now.node(joint.pin), 0.72 * self.r), "white", color, 40.0, 1.5)
            if not isinstance(joint, RevoluteJoint):
                continue
            place = self.now.node(joint.nodes[0])
            if BASE in ends(joint) and tuple(place) not in fixed:
                fixed.add(tuple(place))
                self.stand(place)
            self.fill(symbols.circle(place, 0.62 * self.r), "white", INK, 41.0, 1.4)

    def stand(self, place: Any) -> None:
        corners = symbols.triangle(place, 2.2 * self.r)
        self.fill(corners, "#eef1f4", MUTED, 5.0, 1.3)
        left, right = corners[1] - [0.8 * self.r, 0], corners[2] + [0.8 * self.r, 0]
        self.line([left, right], MUTED, 5.1, 1.4)
        self.hatch(left, right, 5.0)

    def inputs(self) -> None:
        """Arrows of active joints and of forces on nodes."""
        for joint in self.planar.joints:
            torque, force = getattr(joint, "torque", None), getattr(joint, "force", None)
            node = joint.nodes[1] if isinstance(joint, RevoluteJoint) else self.drawn.slider(joint)
            place = self.now.node(node)
            if torque is not None:
                arc, head = symbols.turn_arrow(place, 2.6 * self.r)
                self.line(arc, ACCENT, 45.0, 1.4)
                self.fill(head, ACCENT, "none", 45.0, 0.0)
                self.name_input(torque, place + np.array([2.1, 2.3]) * self.r)
            if force is not None:
                assert isinstance(joint, (PrismaticJoint, PinInSlot))
                e = np.array([self.drawn.value(part) for part in self.drawn.axis(joint)])
                along = self.now.fixed(ends(joint)[0], e) - self.now.fixed(ends(joint)[0], np.zeros(2))
                self.arrow(place + 3 * self.r * along, along, force)
        for force in self.planar.forces:
            place = self.now.node(force.node)
            self.fill(symbols.circle(place, 0.35 * self.r), ACCENT, "none", 45.0, 0.0)
            if self.options.labels:
                self.write(place + np.array([0.6, 0.6]) * self.r, force.name, ACCENT)

    def arrow(self, start: Any, along: Any, force: Any) -> None:
        tip, side = start + 4 * self.r * along, np.array([-along[1], along[0]])
        self.line([start, tip - 0.8 * self.r * along], ACCENT, 45.0, 1.6)
        back = tip - 1.1 * self.r * along
        self.fill(np.array([tip, back + 0.5 * self.r * side, back - 0.5 * self.r * side]), ACCENT, "none", 45.0, 0.0)
        self.name_input(force, tip + 0.6 * self.r * (side + along))

    def name_input(self, value: Any, place: Any) -> None:
        name = bare_name(value)
        if name is not None and self.options.labels:
            self.write(place, name, ACCENT, style="italic")

    # Words and paths

    def labels(self) -> None:
        """Names of bodies, each where it has the most room beside its body."""
        letter = 0.011 * self.drawn.extent
        found = self.obstacles()
        points = np.concatenate([part for _, part in found])
        owners = np.array([name for name, part in found for _ in part])
        for body in self.planar.bodies:
            places = np.array([self.now.node(f"{body.name}.{name}") for name in body.nodes])
            reach = (3.0 if body.name in self.slots else 2.2) * self.r
            half = np.array([letter * len(body.name), 0.0])
            others = points[owners != body.name]
            best, room = places.mean(axis=0), -np.inf
            for anchor, normal in _beside(places):
                place = anchor + reach * normal + normal[0] * half
                word = place + np.linspace(-1, 1, 5)[:, None] * half
                gaps = np.hypot(*(word[:, None] - others[None]).transpose(2, 0, 1))
                free = min(float(gaps.min(initial=np.inf)), 4 * self.r) - 0.02 * self.r * (normal[1] < -0.1)
                if free > room:
                    best, room = place, free
            points = np.vstack([points, best - half, best, best + half])
            owners = np.append(owners, [" ", " ", " "])
            self.axes.update_datalim([best - half - self.r, best + half + self.r])
            self.write(best, body.name, self.color[body.name], ha="center", va="center")

    def obstacles(self) -> list[tuple[str, Any]]:
        """What a name should not cover, by the body it belongs to."""
        found: list[tuple[str, Any]] = [("", np.empty((0, 2)))]
        for body in self.planar.bodies:
            places = np.array([self.now.node(f"{body.name}.{name}") for name in body.nodes])
            for start, end in zip(places, np.roll(places, -1, axis=0), strict=True):
                found.append((body.name, start + np.linspace(0, 1, 25)[:, None] * (end - start)))
        for joint in self.planar.joints:
            if isinstance(joint, RevoluteJoint) and BASE in ends(joint):
                place = self.now.node(joint.nodes[0])
                found.append(("", place + self.r * np.array([(0, 0), (0, -2), (-2, -3), (2, -3), (0, -4)])))
                if joint.torque is not None:
                    found.append(("", symbols.circle(place, 2.6 * self.r)))
                    found.append(("", place + self.r * np.array([(2.1, 2.3), (3.5, 2.6)])))
            elif isinstance(joint, PrismaticJoint):
                start, end = self.travel(joint)
                found.append(("", start + np.linspace(0, 1, 25)[:, None] * (end - start) + [0, -1.6 * self.r]))
        for given in self.options.paths:
            node = str(getattr(given, "name", given))
            if self.run is not None and node.partition(".")[0] in self.drawn.body:
                found.append(("", self.run.node(node)[:: max(1, self.run.count // 200)]))
        return found

    def paths(self) -> None:
        if self.options.paths and self.run is None:
            raise ViewError("draw: paths of nodes are those of a run.  Fix: at=run, with run = da.simulate(…)")
        for given in self.options.paths:
            node = str(getattr(given, "name", given))
            body, _, name = node.partition(".")
            if body not in self.drawn.body or name not in self.drawn.nodes(body):
                known = ", ".join(f"{b.name}.{n}" for b in self.planar.bodies for n in b.nodes)
                raise ViewError(f"draw: unknown node {node!r}.  Fix: one of {known}")
            assert self.run is not None
            self.line(self.run.node(node), self.color[body], 38.0, 1.3, alpha=0.85)
            self.fill(symbols.circle(self.now.node(node), 0.4 * self.r), self.color[body], "none", 42.0, 0.0)

    def ghosts(self) -> None:
        """Other positions of the run, faint."""
        if self.run is None or self.options.ghosts < 1:
            return
        count = self.run.count
        for k in np.linspace(0, count - 1, self.options.ghosts + 2).round().astype(int)[1:-1]:
            for body in self.planar.bodies:
                places = np.array([self.run.node(f"{body.name}.{name}")[k] for name in body.nodes])
                if len(places) > 1:
                    self.line(np.vstack([places, places[:1]]), self.color[body.name], 1.0, 1.2, alpha=0.22)

    def frame(self, figure: Figure) -> None:
        """Limits around everything, with a bar of a round length in the lower left corner."""
        box, edge = self.axes.dataLim, 1.5 * self.r
        low, high, bottom, top = box.x0 - edge, box.x1 + edge, box.y0 - edge, box.y1 + edge
        length = 10.0 ** math.floor(math.log10(0.3 * self.drawn.extent))
        length *= max(k for k in (1, 2, 5) if k * length <= 0.3 * self.drawn.extent)
        x, y = low + edge, bottom - 1.2 * self.r
        self.line([(x, y), (x + length, y)], MUTED, 50.0, 1.6, solid_capstyle="butt")
        for tick in (x, x + length):
            self.line([(tick, y - 0.35 * self.r), (tick, y + 0.35 * self.r)], MUTED, 50.0, 1.2)
        self.write((x + length + 0.7 * self.r, y), f"{length:g} m", MUTED, 8.5, va="center")
        bottom = y - 1.5 * self.r
        self.axes.set(xlim=(low, high), ylim=(bottom, top))
        width, height = (high - low), (top - bottom)
        longest = self.options.size
        factor = longest / max(width, height)
        figure.set_size_inches(max(factor * width, 0.4 * longest), max(factor * height, 0.3 * longest) + 0.45)


def _beside(places: Any) -> list[tuple[Any, Any]]:
    """Places beside a body, and the directions away from it, the preferred first."""
    if len(places) == 1:
        return [(places[0], np.array(n, dtype=float)) for n in ((0, 1.2), (1.2, 0), (-1.2, 0), (0, -1.2))]
    if len(places) > 2:
        return [(places.mean(axis=0), np.array(n, dtype=float)) for n in ((0, -0.8), (0, 0.8))]
    d = places[1] - places[0]
    normal = np.array([-d[1], d[0]]) / np.hypot(*d)
    normal = normal if normal[1] > 1e-9 or (abs(normal[1]) <= 1e-9 and normal[0] > 0) else -normal
    return [(places[0] + part * d, side * normal) for part in (0.42, 0.6, 0.25, 0.75) for side in (1, -1)]
