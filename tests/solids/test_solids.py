"""Solids: mass, center and inertia against integrals over the volume, files, sub-models, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError
from dalembert.io import dumps, loads
from dalembert.solids import SOLIDS

DENSITY = 700.0
ROUNDING = 1e-12
TURN = {"rpy": (0.3, -0.7, 1.1)}


def _gauss(a: float, b: float, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    x, w = np.polynomial.legendre.leggauss(n)
    return (a + b) / 2 + (b - a) / 2 * x, (b - a) / 2 * w


def _grid(*rules: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    nodes = np.stack(np.meshgrid(*(x for x, _ in rules), indexing="ij"), axis=-1).reshape(-1, len(rules))
    weights = np.prod(np.stack(np.meshgrid(*(w for _, w in rules), indexing="ij"), axis=-1), axis=-1).reshape(-1)
    return nodes, weights


def _circle(n: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """Equal weights around a circle are exact for trigonometric polynomials."""
    return np.arange(n) * 2 * np.pi / n, np.full(n, 2 * np.pi / n)


def _axes(axis: np.ndarray) -> np.ndarray:
    axis = axis / np.linalg.norm(axis)
    across = np.linalg.svd(axis[None])[2][1:]
    return np.stack([across[0], np.cross(axis, across[0]), axis])


def _tube(start, end, inner: float, radius: float):
    start, end = np.asarray(start, float), np.asarray(end, float)
    (points, w) = _grid(_gauss(inner, radius), _circle(), _gauss(0, 1))
    r, phi, s = points.T
    length = float(np.linalg.norm(end - start))
    local = np.stack([r * np.cos(phi), r * np.sin(phi), s * length], axis=1)
    return start + local @ _axes(end - start), w * r * length


def _torus(center, axis, radius: float, tube: float):
    points, w = _grid(_gauss(0, tube), _circle(), _circle())
    a, psi, phi = points.T
    rho = radius + a * np.cos(psi)
    local = np.stack([rho * np.cos(phi), rho * np.sin(phi), a * np.sin(psi)], axis=1)
    return np.asarray(center) + local @ _axes(np.asarray(axis, float)), w * a * rho


def _shell(center, inner: float, radius: float):
    points, w = _grid(_gauss(inner, radius), _gauss(-1, 1), _circle())
    r, z, phi = points.T
    flat = np.sqrt(1 - z**2)
    local = r[:, None] * np.stack([flat * np.cos(phi), flat * np.sin(phi), z], axis=1)
    return np.asarray(center) + local, w * r**2


def _turned() -> np.ndarray:
    (cx, cy, cz), (sx, sy, sz) = np.cos(TURN["rpy"]), np.sin(TURN["rpy"])
    about_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    about_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def _block(center, size):
    points, w = _grid(*(_gauss(-edge / 2, edge / 2) for edge in size))
    return np.asarray(center) + points @ _turned().T, w


A, B, C = (0.1, -0.2, 0.3), (0.7, 0.5, -0.1), (1.0, 2.0, 3.0)
CASES = {
    "rod": ({"start": A, "end": B, "radius": 0.04}, lambda: _tube(A, B, 0, 0.04)),
    "cylinder": ({"start": A, "end": B, "radius": 0.2, "inner": 0.15}, lambda: _tube(A, B, 0.15, 0.2)),
    "disc": ({"center": C, "radius": 0.4, "axis": (1, -2, 2), "thickness": 0.06}, lambda: _tube(
        np.array(C) - 0.01 * np.array([1, -2, 2]), np.array(C) + 0.01 * np.array([1, -2, 2]), 0, 0.4)),
    "ring": ({"center": C, "radius": 0.4, "axis": (1, -2, 2), "tube": 0.05}, lambda: _torus(C, (1, -2, 2), 0.4, 0.05)),
    "sphere": ({"center": C, "radius": 0.4, "inner": 0.3}, lambda: _shell(C, 0.3, 0.4)),
    "box": ({"pose": {"position": C, **TURN}, "size": (0.1, 0.5, 0.2)}, lambda: _block(C, (0.1, 0.5, 0.2))),
    "plate": (
        {"pose": {"position": C, **TURN}, "size": (0.4, 0.3), "thickness": 0.01}, lambda: _block(C, (0.4, 0.3, 0.01)),
    ),
}  # fmt: skip


def _tensor(body) -> np.ndarray:
    xx, yy, zz, xy, xz, yz = (float(entry) for entry in body.inertia)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@pytest.mark.parametrize("kind", SOLIDS)
def test_mass_center_and_inertia_are_the_integrals(kind):
    fields, integral = CASES[kind]
    body = getattr(da.Model("one"), kind)("part", **fields, density=DENSITY)
    points, w = integral()
    mass = DENSITY * w.sum()
    center = (w @ points) / w.sum()
    d = points - center
    tensor = DENSITY * (np.eye(3) * (w @ np.sum(d * d, axis=1)) - (d * w[:, None]).T @ d)
    assert float(body.mass) == pytest.approx(mass, rel=ROUNDING)
    np.testing.assert_allclose([float(x) for x in body.com], center, atol=ROUNDING)
    np.testing.assert_allclose(_tensor(body), tensor, atol=ROUNDING * np.trace(tensor))


@pytest.mark.parametrize("kind", ["rod", "disc", "ring", "plate"])
def test_without_thickness_is_the_limit(kind):
    fields = dict(CASES[kind][0])
    thickness = SOLIDS[kind].sizes[-1]
    thin = getattr(da.Model("thin"), kind)("part", **{**fields, thickness: 1e-9}, mass=2.0)
    del fields[thickness]
    none = getattr(da.Model("none"), kind)("part", **fields, mass=2.0)
    np.testing.assert_allclose(_tensor(none), _tensor(thin), atol=1e-15)


@pytest.mark.parametrize("kind", SOLIDS)
def test_a_file_tells_the_sizes_only(kind):
    model = da.Model("one")
    getattr(model, kind)("part", **CASES[kind][0], mass=2.0, color="#112233")
    text = dumps(model)
    assert "inertia" not in text and "shapes" not in text and "com:" not in text
    back = loads(text)
    assert back.bodies == model.bodies and dumps(back) == text


def test_what_is_given_replaces_what_follows():
    model = da.Model("one")
    model.rod("part", A, B, mass=2.0)
    model.shape("part", "sphere", radius=0.1, pose=A)
    other = model.body("other", mass=1, com=(0, 0, 0), solid={"kind": "rod", "start": A, "end": B})
    assert len(model.bodies[0].shapes) == 2 and [float(x) for x in other.com] == [0, 0, 0]
    assert loads(dumps(model)).bodies == model.bodies


def test_a_swinging_rod_by_parameters_and_in_a_sub_model():
    """T = 2π √(2 l / 3 g) of a slender rod, for small swings: here by its linear frequency."""
    arm = da.Model("arm")
    length = arm.parameters(l=2.0)
    rod = arm.rod("rod", (0, 0, 0), (0, 0, -length), mass=3.0)
    arm.revolute("pin", arm.ground, rod, point=(0, 0, 0), axis="y")
    whole = da.Model("whole")
    whole.add(arm, "left", parameters={"l": 0.5})
    for model, joint, l in ((arm, "pin", 2.0), (whole, "left.pin", 0.5)):
        dynamics = da.compile(model)
        assert joint in dynamics.coordinates.slot_of_joint
        assert dynamics.acceleration(np.array([1e-3]), np.zeros(1))[0] == pytest.approx(
            -1.5 * 9.81 / l * np.sin(1e-3), rel=ROUNDING
        )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "mass is missing; give mass, or density"),
        ({"mass": 1, "density": 2}, "mass and density exclude each other"),
        ({"density": 2}, "a thin rod has no volume; give mass instead of density, or its radius"),
        ({"mass": 1, "radus": 0.1}, "did you mean radius?"),
        ({"mass": 1, "start": (0, 0)}, "start: expected three numbers"),
    ],
)
def test_refused_at_the_call(fields, words):
    with pytest.raises(ModelError, match=words.replace("?", r"\?")):
        da.Model("one").rod("part", **{"start": A, "end": B, **fields})


@pytest.mark.parametrize(
    ("solid", "path", "words"),
    [
        ("{kind: rod, start: [0, 0, 0], end: [0, 0, 0], radius: 1}", "solid.end", "both ends are the same point"),
        ("{kind: rod, start: [0, 0, 0], end: [b, 0, 0]}", "solid.end[0]", "unknown parameter 'b'"),
        ("{kind: rood}", "solid", "did you mean rod? one of rod, cylinder"),
        ("{start: [0, 0, 0]}", "solid", "kind is missing"),
        ("{kind: rod, start: [0, 0, 0]}", "solid", "solid.end is missing"),
        ("{kind: disc, center: [0, 0, 0], radius: -a}", "solid.radius", "radius must be positive, got -0.3"),
        ("{kind: disc, center: [0, 0, 0], radius: a, axis: [0, 0, 0]}", "solid.axis", "axis must not be zero"),
        ("{kind: sphere, center: [0, 0, 0], radius: a, inner: 2*a}", "solid.inner", "must be below the radius 0.3"),
    ],
)
def test_refused_in_a_file(solid, path, words):
    text = f"name: one\nparameters: {{a: 0.3}}\nbodies:\n  - name: part\n    mass: 1\n    solid: {solid}\n"
    with pytest.raises(ModelError) as caught:
        loads(text)
    assert words in str(caught.value) and f"bodies[0].{path}" in str(caught.value)
    assert len(caught.value.problems) == 1


def test_two_values_for_one_size():
    with pytest.raises(TypeError, match="two values for 'start'"):
        da.Model("one").rod("part", A, B, start=A, mass=1)
    with pytest.raises(TypeError, match="takes 3 positional arguments"):
        da.Model("one").rod("part", A, B, 0.1, mass=1)


def _write_obj(path, vertices, faces):
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    path.write_text("\n".join([*lines, *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces.tolist())]))


CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
CUBE = np.array([
    [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
    [1, 5, 7], [1, 7, 3],
])  # fmt: skip


@pytest.mark.parametrize("inside_out", [False, True])
def test_a_body_from_a_mesh_is_the_box_that_it_shows(tmp_path, inside_out):
    file = tmp_path / "box.obj"
    _write_obj(file, CORNERS * [100, 500, 200], CUBE[:, ::-1] if inside_out else CUBE)
    model = da.Model("one")
    pose = {"position": C, **TURN}
    meshed = model.body("mesh", **da.mesh_body(file, density=DENSITY, scale=0.001, pose=pose))
    center = np.array(C) + _turned() @ [0.05, 0.25, 0.1]
    box = model.box("box", {"position": center, **TURN}, (0.1, 0.5, 0.2), density=DENSITY)
    assert float(meshed.mass) == pytest.approx(float(box.mass), rel=ROUNDING)
    np.testing.assert_allclose(np.array(meshed.com, float), center, atol=ROUNDING)
    np.testing.assert_allclose(_tensor(meshed), _tensor(box), atol=ROUNDING)
    weighed = da.mesh_body(file, mass=3.0)
    assert weighed["mass"] == pytest.approx(3.0, rel=ROUNDING)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "give mass or density"),
        ({"mass": 1, "density": 1}, "give mass or density"),
        ({"density": -1}, "density must be a positive number"),
        ({"mass": 1, "scale": 0}, "scale must be positive"),
        ({"mass": 1, "scale": "big"}, "scale must be positive"),
        ({"mass": 1, "file": "open"}, "not a closed surface"),
        ({"mass": 1, "file": "flat"}, "encloses no volume"),
    ],
)
def test_meshes_that_are_refused(tmp_path, arguments, words):
    faces = {"open": CUBE[:-1], "flat": np.concatenate([CUBE[:2], CUBE[:2, ::-1]])}.get(arguments.get("file"), CUBE)
    file = tmp_path / "mesh.obj"
    _write_obj(file, CORNERS, faces)
    with pytest.raises(ModelError, match=words):
        da.mesh_body(file, **{key: value for key, value in arguments.items() if key != "file"})
