"""A scene whose names are all the same, for names that try to be more than names."""

from __future__ import annotations

from dataclasses import replace

from dalembert.view import Plot, Scene, SceneBody, SceneJoint

__all__ = ["renamed"]


def renamed(scene: Scene, name: str) -> Scene:
    """The scene with this name for everything that has one."""
    upper, lower = scene.bodies
    return replace(
        scene,
        title=name,
        bodies=[SceneBody(name, upper.shapes, upper.position, upper.quaternion), lower],
        joints=[SceneJoint(name, name, name)],
        springs=[],
        plots=[Plot(name, name, {name: scene.time})],
        facts={name: name},
        trace=[(name, (0, 0, 0))],
    )
