"""The page of a model in a notebook: the mechanism as it is assembled, at rest, to be looked at from all sides."""

from __future__ import annotations

from dataclasses import replace

from dalembert.analyses.simulation.simulate import simulate
from dalembert.model import Model
from dalembert.view import html
from dalembert.view.run_scene import moving_scene

__all__ = ["model_page"]

MOMENT = 1e-6  # s: the run that a page is made of; only its start is shown


def model_page(model: Model) -> str:
    """The page; DalembertError if the model cannot be assembled."""
    run = simulate(model, MOMENT, output_step=MOMENT, certify=False)
    d = run.dynamics
    count = f"{len(d.coordinates.bodies)} bodies, {len(model.joints)} joints"
    facts = {"model": count, "coordinates": str(d.nq), "velocities": str(d.nv), "constraints": str(len(d.rows))}
    scene = moving_scene(run, [], facts)
    bodies = [replace(body, position=body.position[:1], quaternion=body.quaternion[:1]) for body in scene.bodies]
    return html(replace(scene, time=scene.time[:1], bodies=bodies))
