"""What is drawn as a function of the parameters: a kernel, and the order in which its numbers are found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.casadi_algebra import CASADI
from dalembert.codegen import Kernel, compile_function
from dalembert.view.run_scene import Builder
from dalembert.view.scene import Scene, Shape

if TYPE_CHECKING:
    from dalembert.trajectory import Trajectory

__all__ = ["drawn_numbers", "geometry_kernel"]


def geometry_kernel(run: Trajectory, scene: Scene) -> tuple[Kernel | None, list[int]]:
    """A kernel of the parameters with the numbers that depend on them, and their places among all numbers.

    Args:
        scene: of the run.
    """
    kernels = run.dynamics.kernels
    builder = Builder(run, kernels.tree.mechanism)
    traced = list(
        _numbers([builder.shapes(body.name) for body in scene.bodies], builder.shapes("ground"),
                 builder.joints(), builder.springs(), builder.belts())
    )  # fmt: skip
    fixed = list(drawn_numbers(scene))
    if len(traced) != len(fixed):
        raise AssertionError("the drawing has another structure over symbols")
    places = [i for i, number in enumerate(traced) if CASADI.value(number) is None]
    if not places:
        return None, []
    column = CASADI.to_sx(CASADI.array([traced[i] for i in places]))
    return compile_function("geometry", {"p": kernels.symbols["p"][0]}, {"drawn": column}), places


def drawn_numbers(scene: Scene) -> Iterator[Any]:
    """All numbers of what is drawn, in the order in which a page reads them."""
    return _numbers(
        [body.shapes for body in scene.bodies], scene.ground_shapes, scene.joints, scene.springs, scene.belts
    )


def _numbers(bodies: Any, ground: Any, joints: Any, springs: Any, belts: Any) -> Iterator[Any]:
    for shapes in [*bodies, ground]:
        for shape in shapes:
            yield from _of_shape(shape)
    for joint in joints:
        yield from [*joint.position, *joint.axis]
    for spring in springs:
        yield from [*spring.point_1, *spring.point_2]
    for belt in belts:
        for _, point, radius in belt.wheels:
            yield from [*point, radius]
        yield from belt.axis


def _of_shape(shape: Shape) -> Iterator[Any]:
    yield from [*shape.position, *shape.quaternion]
    if shape.size is not None:
        yield from shape.size
    for name in ("radius", "length", "tube"):
        if getattr(shape, name) is not None:
            yield getattr(shape, name)
    if shape.kind == "line" and shape.points is not None:
        yield from np.asarray(shape.points).reshape(-1)
