"""A scene that cannot be drawn says so, completely, before anything is written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.view import Plot, Scene, SceneBody, SceneError, SceneJoint, SceneSpring, Shape, check, html
from dalembert.view.payload import payload
from dalembert.view.run_scene import scene

TIME = np.linspace(0.0, 1.0, 5)


def body(name="rod", shapes=(), count=5, **changes):
    poses = {"position": np.zeros((count, 3)), "quaternion": np.tile([1.0, 0, 0, 0], (count, 1))}
    return SceneBody(name, shapes, **{**poses, **changes})


def with_nan(shape):
    array = np.ones(shape)
    array.flat[-1] = np.nan
    return array


def test_a_sound_scene_passes(two_body_scene):
    check(two_body_scene)


BROKEN = {
    "short position": (Scene("s", TIME, [body(position=np.zeros((4, 3)))]), "got (4, 3)"),
    "transposed position": (Scene("s", TIME, [body(position=np.zeros((3, 5)))]), "transpose"),
    "nan position": (
        Scene("s", TIME, [body(position=with_nan((5, 3)))]),
        "not finite; the first is nan at [4, 2]",
    ),
    "nan quaternion": (Scene("s", TIME, [body(quaternion=with_nan((5, 4)))]), "not finite"),
    "zero quaternion": (Scene("s", TIME, [body(quaternion=np.zeros((5, 4)))]), "zero length"),
    "beyond single precision": (Scene("s", TIME, [body(position=np.full((5, 3), 1e39))]), "too large"),
    "no samples": (Scene("s", np.array([])), "at least one sample"),
    "time backwards": (Scene("s", np.array([0.0, 2.0, 1.0])), "backwards: 2 then 1 at [2]"),
    "nan time": (Scene("s", with_nan(5)), "not finite"),
    "short series": (Scene("s", TIME, plots=[Plot("p", "y", {"a": np.ones(4)})]), "got (4,)"),
    "nan series": (Scene("s", TIME, plots=[Plot("p", "y", {"a": with_nan(5)})]), "series['a']"),
    "same names": (Scene("s", TIME, [body(), body()]), "'rod' is taken"),
    "a body called ground": (Scene("s", TIME, [body("ground")]), "'ground' is taken"),
    "joint on nothing": (Scene("s", TIME, joints=[SceneJoint("j", "revolute", "arm")]), "no body 'arm'"),
    "spring on nothing": (
        Scene("s", TIME, springs=[SceneSpring("k", "ground", (0, 0, 0), "arm", (0, 0, 0))]),
        "no body 'arm'",
    ),
    "trace of nothing": (Scene("s", TIME, trace=[("arm", (0, 0, 0))]), "no body 'arm'"),
    "unknown up": (Scene("s", TIME, up="w"), "up must be"),
    "zero up": (Scene("s", TIME, up=(0, 0, 0)), "must not be zero"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_inconsistent_scene_is_refused(name):
    scene, words = BROKEN[name]
    with pytest.raises(SceneError) as caught:
        html(scene)
    assert words in str(caught.value)
    assert isinstance(caught.value, DalembertError)


TRIANGLE = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
BROKEN_SHAPES = {
    "unknown kind": (Shape("blob"), "unknown shape 'blob'"),
    "box without size": (Shape("box"), "missing dimension"),
    "flat box": (Shape("box", size=(1, 0, 1)), "must be positive"),
    "cylinder without length": (Shape("cylinder", radius=1), "missing dimension"),
    "negative sphere": (Shape("sphere", radius=-1), "must be positive"),
    "one point": (Shape("line", points=[(0, 0, 0)]), "at least two points"),
    "face out of range": (Shape("mesh", vertices=TRIANGLE, faces=[(0, 1, 3)]), "from 0 to 2"),
    "script as a color": (Shape("sphere", radius=1, color="red;}<script>"), "hex string"),
    "opacity": (Shape("sphere", radius=1, opacity=2), "between 0 and 1"),
}


@pytest.mark.parametrize("name", BROKEN_SHAPES)
def test_an_impossible_shape_is_refused(name):
    shape, words = BROKEN_SHAPES[name]
    with pytest.raises(SceneError, match=words):
        check(Scene("s", TIME, [body(shapes=[shape])]))


def test_every_problem_is_reported_at_once(two_body_scene):
    scene = replace(two_body_scene, up="w", trace=[("arm", (0, 0, 0))], plots=[Plot("p", "y", {"a": np.ones(3)})])
    with pytest.raises(SceneError) as caught:
        check(scene)
    assert len(caught.value.problems) == 3


def test_repeated_times_are_allowed():
    check(Scene("impact", np.array([0.0, 1.0, 1.0, 2.0]), [body(count=4)]))


def test_rods_and_forces_are_drawn():
    """Distance joints are rods; the arrows of a run are its reactions, on the second bodies."""
    model = da.Model("rod")
    model.body("bob", mass=2.0, com=(1, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.distance("rod", "ground", "bob", point=(0, 0, 1), point_2=(1, 0, 0))
    run = da.simulate(model, 0.2)
    drawn = scene(run, forces=True)
    (spring,) = drawn.springs
    assert spring.look == "rod" and (spring.body_1, spring.body_2) == ("ground", "bob")
    (arrow,) = drawn.arrows
    assert arrow.body == "bob" and np.allclose(arrow.force, run.reaction("rod").sel(kind="force"))
    assert not scene(run).arrows and payload(drawn)["arrows"][0]["name"] == "rod"


def test_links_lead_to_named_points_too():
    """A foot without a joint at its end is drawn to its end, on pages and in still pictures."""
    model = da.Model("leg", gravity=(0, -9.81, 0))
    model.body("bob", mass=1, com=(0, -1, 0), inertia=(0.1, 0.1, 0.1))
    model.revolute("pivot", "ground", "bob", point=(0, 0, 0), axis="z")
    model.point("foot", "bob", (0.4, -1.2, 0))
    model.point("pin", "bob", (0, 0, 0))
    run = da.simulate(model, 0.1)
    bob = run.dynamics.coordinates.nominal.body_pose("bob")
    (line,) = [shape for shape in scene(run).bodies[0].shapes if shape.kind == "line"]
    assert any(np.allclose(end, bob.inverse().apply(np.array([0.4, -1.2, 0]))) for end in line.points)
    places = np.concatenate([line.get_xydata() for panel in run.plot().axes for line in panel.lines])
    tip = run.output("x(foot)").values[0], run.output("y(foot)").values[0]
    assert np.abs(places - tip).sum(axis=1).min() < 1e-9


def test_bodies_have_one_color_in_all_pictures():
    """Still pictures and pages color bodies in the model's order, whatever the order of the tree is."""
    from matplotlib.colors import to_hex
    from matplotlib.figure import Figure

    from dalembert.view.run_plots import Instant
    from dalembert.view.sticks import Sticks

    model = da.library.four_bar()  # its tree goes from the ground to the crank and the rocker, then to the coupler
    run = da.simulate(model, 0.1)
    page = {one["name"]: one["color"] for one in payload(scene(run))["bodies"]}
    panel = Figure().subplots()
    Sticks(run.dynamics.coordinates).draw(panel, Instant(run, 0), joints=False)
    assert list(page) == ["crank", "coupler", "rocker"]
    assert [to_hex(line.get_color()) for line in panel.lines] == list(page.values())


def test_what_flew_away_is_left_where_it_was_last_seen():
    model = da.Model("gone", gravity=(0, 0, 0))
    model.particle("bob", 1.0, (0, 0, 0))
    run = da.simulate(model, 1.0, initial_rates={"bob": (4e18, 0, 0)}, certify=False)
    drawn = scene(run)
    check(drawn)
    assert 0.2 < drawn.time[-1] <= 0.25  # beyond 1e18 m nothing is drawn


def test_what_has_no_stiffness_is_no_coil():
    """A hydraulic cylinder and a damper are a tube and its rod, a spring is a coil."""
    model = da.Model("looks")
    (k,) = [model.parameters(k=100.0)]
    model.body("mass", mass=1.0, com=(0, 0, 1), inertia=(1, 1, 1))
    model.prismatic("slide", "ground", "mass", point=(0, 0, 1), axis="z")
    ends = {"at": ((0, 0, 0), (0, 0, 1))}
    model.spring("coil", "ground", "mass", stiffness=k, damping=1, **ends)
    model.spring("damper", "ground", "mass", damping=1, stiffness=0.0, **ends)
    model.strut("ram", "ground", "mass", push=10, **ends)
    drawn = scene(da.simulate(model, 0.1))
    assert {one.name: one.look for one in drawn.springs} == {"coil": "coil", "damper": "cylinder", "ram": "cylinder"}
    assert [one["look"] for one in payload(drawn)["springs"]] == ["coil", "cylinder", "cylinder"]
