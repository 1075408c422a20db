"""Bodies and lines of subsystems in animations: where they are, against closed forms and the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da
from dalembert.view.system_scene import system_scene


def double_pendulum() -> da.Subsystem:
    S = da.Subsystem("S")
    for name in ("one", "two"):
        S.include(da.leaves.particle(name, "-y", axes="xy", m=1.5))
    length = S.parameters(l=0.7)
    A, B = S.coordinates("A B")
    S.invariants(S.one.x - length * sin(A), S.one.y + length * cos(A))
    S.invariants(S.two.x - length * (sin(A) + sin(B)), S.two.y + length * (cos(A) + cos(B)))
    S.draw("rods", line=[(0, 0), (S.one.x, S.one.y), (S.two.x, S.two.y)])
    return S


def test_particles_and_lines_are_where_the_variables_say(tmp_path: Path) -> None:
    run = da.simulate(double_pendulum(), 0.5, initial={"A": 0.4, "B": 0.9}, output_step=0.1)
    scene = system_scene(run)
    bodies = {body.name: body for body in scene.bodies}
    assert list(bodies) == ["rods[1]", "rods[2]", "rods[3]", "one.mass", "two.mass"]
    np.testing.assert_allclose(
        bodies["two.mass"].position[:, 0], 0.7 * (np.sin(run["A"]) + np.sin(run["B"])), atol=1e-9
    )
    np.testing.assert_array_equal(bodies["rods[2]"].position, bodies["one.mass"].position)
    assert not bodies["rods[1]"].position.any() and len(scene.springs) == 2 and scene.up == (0.0, 1.0, 0.0)
    page = run.animate(tmp_path / "double.html")
    assert "two.mass" in page.read_text() and "two.mass" in run._repr_html_()


def test_meshes_are_read(tmp_path: Path) -> None:
    (tmp_path / "plate.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    S = da.Subsystem("S")
    x = S.coordinates("x")
    S.effective_forces({x: -x.dd})
    S.draw("plate", at=(x, 0), shape={"kind": "mesh", "file": str(tmp_path / "plate.obj"), "scale": (2, 3, 1)})
    (body,) = system_scene(da.simulate(S, 0.1, initial={"x": 0.2})).bodies
    np.testing.assert_array_equal(body.shapes[0].vertices, [[0, 0, 0], [2, 0, 0], [0, 3, 0]])


def test_a_rigid_body_turns_as_its_variables_say() -> None:
    """Free about its axis of symmetry: the angle is Ω t, the box has the moments of inertia that were given."""
    body = da.leaves.rigid_body("B", "zxz", m=3.0, Ixx=0.2, Iyy=0.2, Izz=0.1)
    run = da.simulate(body, 1.0, initial={"omega.z": 2.0, "v.x": 0.5, "a.b": 0.3}, output_step=0.25)
    (drawn,) = system_scene(run).bodies
    np.testing.assert_allclose(drawn.position[:, 0], 0.5 * run.values("time"), atol=1e-9)
    half = np.arctan2(np.linalg.norm(drawn.quaternion[:, 1:], axis=1), np.abs(drawn.quaternion[:, 0]))
    tilt = 0.3 / 2
    expected = np.arccos(np.abs(np.cos(tilt) * np.cos(run.values("time") * 2.0 / 2)))
    np.testing.assert_allclose(half, expected, atol=1e-7)
    a, b, c = drawn.shapes[0].size
    np.testing.assert_allclose(np.array([b * b + c * c, a * a + c * c, a * a + b * b]) * 3.0 / 12, [0.2, 0.2, 0.1])


def test_bodies_of_a_model_as_a_leaf_are_drawn_as_the_model_draws_them() -> None:
    model = da.library.double_pendulum()
    leaf = da.leaves.model(model, "arm")
    S = da.Subsystem("S")
    S.include(leaf)
    run = da.simulate(S, 0.3, output_step=0.1, initial={f"arm.{leaf_name}": 0.4 for leaf_name in list(leaf._orders)})
    plain = da.simulate(model, 0.3, output_step=0.1, initial=dict.fromkeys(model.joints, 0.4))
    bodies = {body.name.removeprefix("arm."): body for body in system_scene(run).bodies}
    assert set(bodies) == {str(name) for name in plain.values("body")}
    for k, name in enumerate(map(str, plain.values("body"))):
        np.testing.assert_allclose(bodies[name].position, plain.values("position")[:, k], atol=1e-7)
        assert bodies[name].shapes
        dots = np.abs(np.sum(bodies[name].quaternion * plain.values("orientation")[:, k], axis=1))
        np.testing.assert_allclose(dots, 1.0, atol=1e-9)


def test_parameters_that_events_change_move_what_is_drawn() -> None:
    S = da.Subsystem("S")
    x, h = S.coordinates("x"), S.parameters(h=1.0)
    S.effective_forces({x: -x.dd})
    S.event("up", x - 0.25, direction="rising", set={h: 2.0})
    S.draw("mark", at=(x, h, 0), shape={"kind": "box", "size": [0.1, 0.2, 0.3], "color": "#112233"})
    run = da.simulate(S, 1.0, initial={"x.d": 1.0}, output_step=0.1)
    (mark,) = system_scene(run).bodies
    heights = mark.position[:, 1]
    assert heights[0] == 1.0 and heights[-1] == 2.0 and mark.shapes[0].size == (0.1, 0.2, 0.3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "either at or line"),
        ({"at": (1, 2, 3, 4)}, "three coordinates, got 4"),
        ({"at": ("x", 0), "rotation": [[1, 0], [0, 1]]}, "3×3 entries, got 4"),
        ({"at": ("x", 0), "shape": {"kind": "blob"}}, "kind"),
        ({"at": ("z", 0)}, "unknown name 'z'"),
    ],
)
def test_wrong_drawings_are_refused_in_words(options: dict[str, object], words: str) -> None:
    S = da.Subsystem("S")
    S.coordinates("x")
    with pytest.raises(da.DalembertError, match=words):
        S.draw("body", **options)  # type: ignore[arg-type]


def test_where_nothing_is_drawn_it_says_so(tmp_path: Path) -> None:
    run = da.simulate(da.leaves.dc_motor("M"), 0.1, inputs={"voltage": 1})
    with pytest.raises(da.DalembertError, match="nothing of subsystem 'M' is drawn"):
        run.animate(tmp_path / "none.html")
    assert "SystemTrajectory" in run._repr_html_()
