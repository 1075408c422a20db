"""The Lie-group closed forms say what the recursions, automatic differentiation and textbook formulas say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import casadi as ca
import numpy as np
import pytest
import sympy as sp
from support.algebras import run

from dalembert.algebra import NUMPY, Jets, get_algebra
from dalembert.algebra.casadi_algebra import CASADI
from dalembert.coordinates import Absolute, Coordinates, Relative, TreeKinematics
from dalembert.fuzz.random_models import HOLONOMIC, NONHOLONOMIC, add_joint, draw_body, tree_model, unit
from dalembert.model import Model, flatten
from dalembert.spatial import Inertia, Pose, se3
from dalembert.tree.outward import outward
from dalembert.tree.product_of_exponentials import LieGroupTree, ScrewBody, ScrewMotion
from dalembert.tree.recursions import forward_dynamics, gravity_base, inverse_dynamics, mass_matrix

# Two roads to the same numbers: only round-off differs, amplified by trees of a dozen bodies.
AGREEMENT = 1e-10

KINDS = (*HOLONOMIC, *NONHOLONOMIC)
# A custom joint with three coordinates on a curved surface, away from the identity where it is neutral.
SADDLE = {
    "coordinates": 3,
    "position": ("q0", "q1 - 0.1", "q0*q1 + q2**2/3 + 0.2"),
    "rpy": ("q0*q2 + 0.3", "q1/2", "q0 + 0.3*q1*q2"),
}
ONE_SCREW = ("revolute", "prismatic", "screw")
SEEDS = (0, 1, 2)


def close(got, expected, size: float | None = None) -> None:
    """Equal up to AGREEMENT of the largest expected entry."""
    expected = np.asarray(expected, dtype=float)
    scale = np.abs(expected).max(initial=0.0) if size is None else size
    np.testing.assert_allclose(np.asarray(got, dtype=float), expected, rtol=0, atol=AGREEMENT * max(scale, 1e-3))


@dataclass(frozen=True)
class Sample:
    """A tree in floats, its screws, and a random state."""

    coordinates: Coordinates
    tree: TreeKinematics
    lie: LieGroupTree
    q: np.ndarray
    u: np.ndarray
    du: np.ndarray

    @property
    def base(self) -> np.ndarray:
        return gravity_base(NUMPY, self.tree.mechanism.gravity)

    @property
    def unloaded(self) -> list[np.ndarray]:
        return [np.zeros(6) for _ in self.tree.links]


def sample(model: Model, seed: int = 0, kind: type[Coordinates] = Relative) -> Sample:
    coordinates = kind(flatten(model))
    tree = coordinates.place(NUMPY, dict(coordinates.flat.parameters))
    rng = np.random.default_rng(seed)
    q = np.concatenate([coordinates.joint_at(slot).random(rng) for slot in coordinates.slots])
    u, du = rng.normal(size=(2, coordinates.nv))
    return Sample(coordinates, tree, LieGroupTree.from_tree(tree), q, u, du)


@cache
def sandwich(kind: str, turned: bool) -> Sample:
    """A hinge, the joint in question, then two branches: a slide and a ball."""
    rng = np.random.default_rng([len(kind), turned])
    model = Model(f"{kind} {turned}", gravity=tuple(rng.normal(size=3) * 5))
    for i in range(4):
        draw_body(model, rng, f"b{i}", rng.normal(size=3))
    ends = ("b1", "b0") if turned else ("b0", "b1")
    add_joint(model, rng, "revolute", "foot", "ground", "b0", rng.normal(size=3))
    if kind == "saddle":
        model.custom("joint", *ends, point=tuple(rng.normal(size=3)), axis=tuple(unit(rng)), **SADDLE)
    else:
        add_joint(model, rng, kind, "joint", *ends, rng.normal(size=3))
    add_joint(model, rng, "prismatic", "slide", "b1", "b2", rng.normal(size=3))
    add_joint(model, rng, "spherical", "ball", "b1", "b3", rng.normal(size=3))
    found = sample(model, 7)
    assert found.coordinates.slots[1].reversed == turned
    return found


def satellite() -> Model:
    """As in the source, sec. 5.4: a main body that floats in the plane, two arrays of four panels."""
    model = Model("satellite", gravity=(0, 0, 0))
    model.body("main", mass=1869, com=(0, 0, 0), inertia=(900, 800, 1100))
    model.planar("float", "ground", "main", point=(0, 0, 0), axis="z")
    for side, sign in (("left", -1), ("right", 1)):
        last = "main"
        for i in range(4):
            x = sign * (1.0 + 2.2 * i)
            name = f"{side} {i}"
            model.body(name, mass=22 - i, com=(x + sign * 1.1, 0.1 * i, 0), inertia=(1, 9, 10))
            model.revolute(f"{name} hinge", last, name, point=(x, 0.05 * i, 0), axis="z")
            last = name
    return model


def snakeboard() -> Model:
    """As in the source, sec. 5.4: coupler, two boards with wheels and a rotor in the plane; six freedoms."""
    model = Model("snakeboard", gravity=(0, 0, -9.81))
    model.body("coupler", mass=6, com=(0, 0, 0.1), inertia=(0.01, 0.1, 0.1))
    model.planar("float", "ground", "coupler", point=(0, 0, 0.1), axis="z")
    for name, x in (("front", 0.3), ("back", -0.3)):
        model.body(name, mass=1.5, com=(x, 0.02, 0.1), inertia=(0.01, 0.01, 0.02))
        model.revolute(f"{name} pin", "coupler", name, point=(x, 0, 0.1), axis="z")
    model.body("rotor", mass=60, com=(0, 0, 1), inertia=(5, 5, 1.2))
    model.revolute("torso", "coupler", "rotor", point=(0, 0, 0.1), axis="z")
    return model


@cache
def named(name: str) -> Sample:
    if name in ("satellite", "snakeboard"):
        return sample({"satellite": satellite, "snakeboard": snakeboard}[name]())
    what, seed = name.rsplit(" ", 1)
    order = np.random.default_rng(int(seed)).permutation(KINDS)
    if what == "absolute":
        return sample(tree_model(int(seed), tuple(order[:5]), forces=False), kind=Absolute)
    return sample(tree_model(int(seed), tuple(order), forces=False), int(seed))


SANDWICHES = [(kind, turned) for kind in (*KINDS, "saddle") for turned in (False, True)]
NAMES = [*(f"tree {seed}" for seed in SEEDS), "absolute 0", "satellite", "snakeboard"]
SAMPLES = [
    *(pytest.param(lambda k=k, t=t: sandwich(k, t), id=f"{k}{' reversed' * t}") for k, t in SANDWICHES),
    *(pytest.param(lambda name=name: named(name), id=name) for name in NAMES),
]
everywhere = pytest.mark.parametrize("make", SAMPLES)
small = pytest.mark.parametrize("make", SAMPLES[: len(SANDWICHES)])


def test_the_random_trees_are_worth_it():
    """Branches, reversed joints of all sorts, and quasi-velocities."""
    turned = {s.joint for name in NAMES[:3] for s in named(name).coordinates.slots if s.reversed}
    assert len(turned) >= 6
    for name in NAMES[:3]:
        parents = [link.parent for link in named(name).tree.links]
        assert len(set(parents)) < len(parents)
        assert named(name).lie.nv > 40


# Geometry


@everywhere
def test_poses_are_those_of_the_outward_pass(make):
    s = make()
    for pose, state in zip(s.lie.poses(s.q), outward(s.tree, s.q, s.u), strict=True):
        close(pose.R, state.X_WB.R)
        close(pose.p, state.X_WB.p)


def test_screws_are_read_off_the_drawing():
    """Y = (a, p × a + h a) from axis, point and pitch as drawn, whatever the body frames; reversed: −Y."""
    rng = np.random.default_rng(5)
    model = Model("drawn", gravity=(0, 0, 0))
    expected, last = [], "ground"
    for i, kind in enumerate(("revolute", "screw", "prismatic", "cylindrical", "universal")):
        draw_body(model, rng, f"b{i}", rng.normal(size=3))
        p, a = rng.normal(size=3), unit(rng)
        turned = i % 2 == 1
        across = np.cross(a, unit(rng))
        across /= np.linalg.norm(across)
        fields = {"point": tuple(p), "axis": tuple(a)}
        fields |= {"pitch": 0.7} if kind == "screw" else {"axis_2": tuple(across)} if kind == "universal" else {}
        ends = (f"b{i}", last) if turned else (last, f"b{i}")
        model.joint(kind, f"j{i}", *ends, **fields)
        turn, slide = np.r_[a, np.cross(p, a)], np.r_[np.zeros(3), a]
        found = {
            "revolute": [turn],
            "prismatic": [slide],
            "screw": [turn + 0.7 / (2 * np.pi) * slide],
            "cylindrical": [slide, turn],
            "universal": [turn, np.r_[across, np.cross(p, across)]],
        }[kind]
        expected += [-Y if turned else Y for Y in found]
        last = f"b{i}"
    s = sample(model)
    close(s.lie.screws, np.array(expected).T)
    # The product of exponentials by the general exponential map: a chain, so all screws are on the way.
    X = Pose.identity(NUMPY)
    order = [0, 1, 2, 4, 3, 5, 6]  # the reversed cylindrical joint turns first
    for a in order:
        X = X @ se3.exp(NUMPY, np.array(expected[a]) * s.q[a])
    X = X @ s.tree.mechanism.body_pose("b4")
    close(s.lie.poses(s.q)[-1].R, X.R)
    close(s.lie.poses(s.q)[-1].p, X.p)


# Kinematics


@everywhere
def test_jacobian_columns_are_twists_of_the_outward_pass(make):
    s = make()
    K = s.lie.jacobian(s.q)
    for a, column in enumerate(np.eye(s.lie.nv)):
        close(K[:, a], np.concatenate([state.V for state in outward(s.tree, s.q, column)]))


@everywhere
def test_jacobian_and_its_rate_give_accelerations(make):
    s = make()
    states = outward(s.tree, s.q, s.u, s.du)
    got = s.lie.jacobian(s.q) @ s.du + s.lie.jacobian_rate(s.q, s.u) @ s.u
    close(got, np.concatenate([state.A for state in states]))


@everywhere
def test_jacobian_is_a_product_of_block_matrices(make):
    """K = A H, and A = (1 − D)⁻¹ with the blocks Ad(C_k⁻¹ C_p) of neighbors only."""
    s = make()
    A, H = s.lie.transfer_matrix(s.q), s.lie.joint_screws(s.q)
    close(A @ H, s.lie.jacobian(s.q))
    D = np.zeros_like(A)
    poses = s.lie.poses(s.q)
    for k, link in enumerate(s.tree.links):
        if link.parent >= 0:
            relative = poses[k].inverse() @ poses[link.parent]
            D[6 * k : 6 * k + 6, 6 * link.parent : 6 * link.parent + 6] = relative.adjoint(NUMPY)
    close(A @ (np.eye(len(A)) - D), np.eye(len(A)), np.abs(A).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_matrix_forms_of_the_source(seed):
    """Eqs. (30), (31), (52): with one screw per joint K̇ = −A a K, and Kᵀ(−bᵀJ − J A a)K u = C u.

    The matrix of the latter is not C: with it Ṁ − 2C is not skew.
    """
    s = sample(tree_model(seed, ONE_SCREW * 3, forces=False), seed)
    A, H, K = s.lie.transfer_matrix(s.q), s.lie.joint_screws(s.q), s.lie.jacobian(s.q)
    a, b, J = np.zeros_like(A), np.zeros_like(A), np.zeros_like(A)
    own, twists = H @ s.u, K @ s.u
    for k, body in enumerate(s.lie.bodies):
        at = slice(6 * k, 6 * k + 6)
        a[at, at], b[at, at] = se3.ad(NUMPY, own[at]), se3.ad(NUMPY, twists[at])
        J[at, at] = body.inertia.matrix(NUMPY)
    close(s.lie.jacobian_rate(s.q, s.u), -A @ a @ K)
    C = s.lie.coriolis(s.q, s.u)
    printed = K.T @ (-b.T @ J - J @ A @ a) @ K
    close(printed @ s.u, C @ s.u)
    assert np.abs(printed - C).max() > 0.01 * np.abs(C).max()


# Automatic differentiation: ∂_b f = ∂f/∂q · N(q) e_b


def along(s: Sample, function) -> np.ndarray:
    """∂_b f for every direction b (last index): f(lie, q) is traced over CasADi and differentiated there."""
    tree = s.coordinates.place(CASADI, dict(s.coordinates.flat.parameters))
    lie = LieGroupTree.from_tree(tree)
    symbol, q = CASADI.symbols("q", len(s.q))
    value = function(lie, q)
    flat = CASADI.to_sx(value)
    N = ca.horzcat(*[CASADI.to_sx(qdot(tree, q, direction)) for direction in np.eye(s.lie.nv)])
    result = ca.Function("f", [symbol], [ca.jacobian(flat, symbol) @ N])(s.q)
    return np.array(ca.DM(result)).reshape(*np.shape(value), s.lie.nv)


def qdot(tree: TreeKinematics, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    return CASADI.concatenate([link.joint.qdot(CASADI, q[link.q], u[link.u]) for link in tree.links])


@small
@pytest.mark.parametrize("matrix", ["jacobian", "mass_matrix"])
def test_derivatives_of_matrices(make, matrix):
    s = make()
    expected = along(s, lambda lie, q: getattr(lie, matrix)(q))
    close(getattr(s.lie, f"{matrix}_derivative")(s.q), expected)
    close(getattr(s.lie, f"{matrix}_rate")(s.q, s.u), expected @ s.u)


@small
def test_structure_coefficients_are_brackets_of_the_fields(make):
    """[e_b, e_c]: the change of N e_c along e_b less that of N e_b along e_c, in the space of q, is N γ."""
    s = make()
    tree = s.coordinates.place(CASADI, dict(s.coordinates.flat.parameters))
    symbol, q = CASADI.symbols("q", len(s.q))
    fields = [CASADI.to_sx(qdot(tree, q, direction)) for direction in np.eye(s.lie.nv)]
    slopes = [ca.jacobian(field, symbol) for field in fields]
    n = s.lie.nv
    brackets = [slopes[c] @ fields[b] - slopes[b] @ fields[c] for b in range(n) for c in range(n)]
    N, found = (
        np.array(ca.DM(x)) for x in ca.Function("f", [symbol], [ca.horzcat(*fields), ca.horzcat(*brackets)])(s.q)
    )
    gamma = s.lie.structure_coefficients
    close(N @ gamma.reshape(n, -1), found, 1.0)
    assert (np.abs(gamma).max() == 1.0) == any(link.joint.nq > link.joint.nv for link in s.tree.links)


@small
def test_christoffel_symbols_by_their_definition(make):
    """Koszul:  2 Γ_abc = ∂_b M_ac + ∂_c M_ab − ∂_a M_bc + M_ad γ_dbc − M_bd γ_dca − M_cd γ_dba,  ∂ by AD."""
    s = make()
    dM = along(s, lambda lie, q: lie.mass_matrix(q))
    gamma = np.einsum("ad,dbc->abc", s.lie.mass_matrix(s.q), s.lie.structure_coefficients)
    koszul = (
        np.einsum("acb->abc", dM) + np.einsum("abc->abc", dM) - np.einsum("bca->abc", dM)
        + gamma - np.einsum("bca->abc", gamma) - np.einsum("cba->abc", gamma)
    ) / 2  # fmt: skip
    G = s.lie.christoffel(s.q)
    close(G, koszul)
    plain = [a for a in range(s.lie.nv) if not s.lie.structure_coefficients[:, a].any()]
    close(G[:, plain][:, :, plain], G[:, plain][:, :, plain].swapaxes(1, 2), np.abs(G).max())


@everywhere
def test_rates_along_the_motion_by_finite_differences(make):
    """K̇ and Ṁ at large sizes: central differences of step 1e-6 along u, good to about 1e-8 of the size."""
    s, step = make(), 1e-6
    ahead, behind = (s.tree.integrate(s.q, sign * step * s.u) for sign in (1, -1))
    for value, rate in ((s.lie.jacobian, s.lie.jacobian_rate), (s.lie.mass_matrix, s.lie.mass_matrix_rate)):
        numeric = (value(ahead) - value(behind)) / (2 * step)
        size = np.abs(numeric).max() + np.abs(value(s.q)).max()
        np.testing.assert_allclose(rate(s.q, s.u), numeric, atol=1e-7 * size)


def test_rates_by_jets():
    """The closed forms are written over the algebra, so jets of them are their exact rates."""
    s = sandwich("cylindrical", True)
    jets = Jets(NUMPY)
    parameters = {name: jets.constant(value) for name, value in s.coordinates.flat.parameters.items()}
    tree = s.coordinates.place(jets, parameters)
    rate = np.concatenate([link.joint.qdot(NUMPY, s.q[link.q], s.u[link.u]) for link in s.tree.links])
    q = jets.jets(s.q, rate, np.zeros_like(rate))
    lie = LieGroupTree.from_tree(tree)
    close(jets.parts(lie.jacobian(q))[1], s.lie.jacobian_rate(s.q, s.u))
    close(jets.parts(lie.mass_matrix(q))[1], s.lie.mass_matrix_rate(s.q, s.u))


@small
def test_points_of_bodies(make):
    """The Jacobian of a point is the derivative of its position; its rate gives the second."""
    s = make()
    x = np.array([0.3, -0.4, 0.7])
    J = along(s, lambda lie, q: lie.poses(q)[2].apply(x))
    close(s.lie.point_jacobian(s.q, s.lie.names[2], x), J)
    rate = along(s, lambda lie, q: lie.point_jacobian(q, lie.names[2], x))
    close(s.lie.point_jacobian_rate(s.q, s.u, s.lie.names[2], x), rate @ s.u)


# Dynamics


@everywhere
def test_mass_matrix_is_that_of_composite_bodies(make):
    s = make()
    close(s.lie.mass_matrix(s.q), mass_matrix(s.tree, outward(s.tree, s.q, s.u)))


@everywhere
def test_bias_is_that_of_newton_euler(make):
    s = make()
    expected = inverse_dynamics(s.tree, outward(s.tree, s.q, s.u, base=s.base), s.unloaded)
    close(s.lie.bias(s.q, s.u), expected)
    close(s.lie.coriolis(s.q, s.u) @ s.u + s.lie.gravity_forces(s.q), expected)
    still = inverse_dynamics(s.tree, outward(s.tree, s.q, 0 * s.u, base=s.base), s.unloaded)
    close(s.lie.gravity_forces(s.q), still)


@everywhere
def test_acceleration_is_that_of_articulated_bodies(make):
    s = make()
    tau = np.cos(np.arange(s.lie.nv))
    close(s.lie.acceleration(s.q, s.u, tau), forward_dynamics(s.tree, s.q, s.u, tau, s.unloaded, s.base))


@everywhere
def test_wrenches_on_bodies(make):
    s = make()
    rng = np.random.default_rng(1)
    wrenches = rng.normal(size=(len(s.tree.links), 6))
    on_links = [link.X_LB.force(F) for link, F in zip(s.tree.links, wrenches, strict=True)]
    states = outward(s.tree, s.q, 0 * s.u)
    close(s.lie.generalized_forces(s.q, list(wrenches)), -inverse_dynamics(s.tree, states, on_links))


@everywhere
def test_coriolis_matrix(make):
    """Ṁ − 2C is skew, and C contracts the Christoffel symbols with the velocity that differentiates."""
    s = make()
    C = s.lie.coriolis(s.q, s.u)
    N = s.lie.mass_matrix_rate(s.q, s.u) - 2 * C
    close(N + N.T, np.zeros_like(N), np.abs(C).max())
    if s.lie.nv < 20:
        close(np.einsum("abc,b->ac", s.lie.christoffel(s.q), s.u), C)


@pytest.mark.parametrize("name", ["satellite", "snakeboard"])
def test_momentum_of_floating_mechanisms(name):
    """The plane takes no momentum along x and y and about z from a mechanism that floats in it."""
    s = named(name)
    du = s.lie.acceleration(s.q, s.u, np.zeros(s.lie.nv))
    A = s.lie.jacobian(s.q) @ du + s.lie.jacobian_rate(s.q, s.u) @ s.u
    V = s.lie.jacobian(s.q) @ s.u
    rate, size = np.zeros(6), 0.0
    for k, (body, pose) in enumerate(zip(s.lie.bodies, s.lie.poses(s.q), strict=True)):
        at = slice(6 * k, 6 * k + 6)
        change = pose.force(body.inertia.apply(A[at]) + body.inertia.bias(V[at]))
        rate, size = rate + change, max(size, np.abs(change).max())
    close(rate[[2, 3, 4]], np.zeros(3), size)
    assert size > 0.1
    # The shape alone decides on the inertia of turns: neither place nor heading does.
    dM = s.lie.mass_matrix_derivative(s.q)
    assert np.abs(dM).max() > 0.01
    close(dM[2:, 2:, :3], np.zeros((s.lie.nv - 2, s.lie.nv - 2, 3)), np.abs(dM).max())


# Without body frames, other algebras, limits


def test_a_drawing_without_body_frames():
    """m = 1 and inertias in world axes give the same equations as the model's own body frames."""
    rng = np.random.default_rng(2)
    model = Model("arm", gravity=(0, 0, -9.81))
    bodies = []
    for i in range(4):
        p, a, c = rng.normal(size=3), unit(rng), rng.normal(size=3)
        cloud = rng.normal(size=(5, 3))
        J = sum(x @ x * np.eye(3) - np.outer(x, x) for x in cloud - cloud.mean(axis=0))
        parent = (-1, 0, 1, 0)[i]
        model.body(f"b{i}", mass=2.0 + i, com=tuple(c), inertia=J)
        ends = ("ground" if parent < 0 else f"b{parent}", f"b{i}")
        if i == 2:
            model.prismatic(f"j{i}", *ends, point=tuple(p), axis=tuple(a))
            motion = ScrewMotion.along(NUMPY, a, i)
        else:
            model.screw(f"j{i}", *ends, point=tuple(p), axis=tuple(a), pitch=0.3 * i)
            motion = ScrewMotion.about(NUMPY, a, p, i, 0.3 * i / (2 * np.pi))
        bodies.append(ScrewBody(f"b{i}", parent, (motion,), Pose.identity(NUMPY), Inertia(2.0 + i, c, J)))
    s = sample(model)
    order = [s.lie.names.index(f"b{i}") for i in range(4)]
    lie = LieGroupTree(NUMPY, bodies, np.array([0, 0, -9.81]))
    q, u = np.empty(4), np.empty(4)
    for i, at in enumerate(order):
        q[i], u[i] = s.q[s.tree.links[at].q].item(), s.u[s.tree.links[at].u].item()
    of = [s.tree.links[at].u.start for at in order]
    close(lie.mass_matrix(q), s.lie.mass_matrix(s.q)[np.ix_(of, of)])
    close(lie.bias(q, u), s.lie.bias(s.q, s.u)[of])
    close(lie.christoffel(q), s.lie.christoffel(s.q)[np.ix_(of, of, of)])


@pytest.mark.parametrize("algebra", ["sympy", "casadi"])
@pytest.mark.parametrize(("kind", "turned"), [("universal", False), ("spherical", True), ("screw", True)])
def test_algebras_agree(algebra, kind, turned):
    rng = np.random.default_rng(3)
    model = Model("small", gravity=(0.3, -9, 1))
    draw_body(model, rng, "b0", rng.normal(size=3))
    draw_body(model, rng, "b1", rng.normal(size=3))
    add_joint(model, rng, kind, "j0", *(("b0", "ground") if turned else ("ground", "b0")), rng.normal(size=3))
    add_joint(model, rng, "revolute", "j1", "b0", "b1", rng.normal(size=3))
    s = sample(model)

    def everything(al, q, u):
        parameters = {name: al.constant(value) for name, value in s.coordinates.flat.parameters.items()}
        lie = LieGroupTree.from_tree(s.coordinates.place(al, parameters))
        return [
            *lie.poses(q), lie.jacobian(q), lie.jacobian_rate(q, u), lie.mass_matrix(q), lie.coriolis(q, u),
            lie.christoffel(q), lie.bias(q, u), lie.acceleration(q, u, u),
        ]  # fmt: skip

    close(run(algebra, everything, s.q, s.u), run("numpy", everything, s.q, s.u))


def test_the_double_pendulum_of_textbooks():
    """From two screws drawn on paper to M and Γ as printed everywhere."""
    al = get_algebra("sympy")
    l, c1, c2, m1, m2, I1, I2, g = sp.symbols("l c1 c2 m1 m2 I1 I2 g", positive=True)
    q1, q2 = sp.symbols("q1 q2", real=True)

    def rod(m, x, I):
        return Inertia(m, al.array([x, 0, 0]), al.array([[0, 0, 0], [0, I, 0], [0, 0, I]]))

    one = Pose.identity(al)
    lie = LieGroupTree(
        al,
        [
            ScrewBody("upper", -1, (ScrewMotion.about(al, [0, 0, 1], [0, 0, 0], 0),), one, rod(m1, c1, I1)),
            ScrewBody("lower", 0, (ScrewMotion.about(al, [0, 0, 1], [l, 0, 0], 1),), one, rod(m2, l + c2, I2)),
        ],
        al.array([0, -g, 0]),
    )
    q = np.array([q1, q2])
    k = m2 * l * c2
    M22 = I2 + m2 * c2**2
    M12 = M22 + k * sp.cos(q2)
    expected = [[I1 + m1 * c1**2 + I2 + m2 * (l**2 + c2**2) + 2 * k * sp.cos(q2), M12], [M12, M22]]
    s = k * sp.sin(q2)
    symbols = [[[0, -s], [-s, -s]], [[s, 0], [0, 0]]]
    falls = [
        g * ((m1 * c1 + m2 * l) * sp.cos(q1) + m2 * c2 * sp.cos(q1 + q2)),
        g * m2 * c2 * sp.cos(q1 + q2),
    ]
    for got, wanted in (
        (lie.mass_matrix(q), expected), (lie.christoffel(q), symbols), (lie.gravity_forces(q), falls),
    ):  # fmt: skip
        for x, y in zip(np.ravel(got), np.ravel(np.array(wanted, dtype=object)), strict=True):
            assert sp.simplify(sp.expand_trig(x - y)) == 0
