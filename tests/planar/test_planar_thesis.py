"""The planar mechanisms of the thesis and of the manual of Mo2DPack, to the digits of an independent solution.

Reference values have ten digits or so; they came from Newton-Euler equations with every joint force.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipk

import dalembert as da

CRANK = {"crank.angle": "pi/2*t"}
PLATFORM = {
    "platform.center.x": "-sin(pi*t/2)",
    "platform.center.y": "sin(pi*t/4)",
    "platform.angle": "pi/6*sin(pi*t/4)**4",
}
# Both ways to the unknowns find the same to rounding.
AGREE = 1e-10


def by_nodes(w: da.Planar, motion: dict[str, str], times):
    """Theorem 4.3 over the node model:  C with C.u = 1,  u = −Cᵀ f*."""
    found = da.inverse_dynamics(w.to_subsystem(quantities=motion), motion, times)
    assert found.certificate.trusted, found.certificate
    return found


@pytest.fixture(scope="module")
def whitworth():
    w = da.library.whitworth()
    return w, da.inverse_dynamics(w, CRANK, 4.0, unknowns=["u1"], output_step=0.01)


@pytest.fixture(scope="module")
def three_rrr():
    w = da.library.three_rrr()
    return w, da.inverse_dynamics(w, PLATFORM, 16.0, output_step=0.1)


@pytest.mark.parametrize(
    ("t", "speed", "rocker", "torque"),
    [
        (0.0, -0.255876324727, 0.461998919646, 0.036541853005),
        (2.3, 0.705959798504, -1.09096826615, 0.952081805481),
    ],
)
def test_whitworth(whitworth, t, speed, rocker, torque):
    _, found = whitworth
    k = round(t / 0.01)
    assert found.certificate.trusted
    assert float(found["u1"][k]) == pytest.approx(torque, abs=5e-12)
    assert float(found.output("speed")[k]) == pytest.approx(speed, abs=5e-12)
    assert float(found.output("rocker_rate")[k]) == pytest.approx(rocker, abs=5e-12)


def test_whitworth_extremes(whitworth):
    """The rocker is fastest where crank and rocker are in line:  ω r/(d ± r)."""
    w, _ = whitworth
    r, d, omega = np.sqrt(0.02), 0.3, np.pi / 2
    # The crank starts at 45°; it points up after a half and down after 2.5 s.
    found = by_nodes(w, CRANK, [0.25, 0.5, 1.5, 2.47, 2.5, 2.65])
    assert float(found["rocker.omega"][1]) == pytest.approx(omega * r / (d + r), abs=1e-11)
    assert float(found["rocker.omega"][4]) == pytest.approx(-omega * r / (d - r), abs=1e-11)
    assert omega * r / (d + r) == pytest.approx(0.503247393378, abs=5e-13)
    assert -omega * r / (d - r) == pytest.approx(-1.40084529440, abs=5e-12)
    assert float(found["guide.slide.d"][3]) == pytest.approx(0.8706, abs=5e-5)
    assert float(found["u1"][5]) == pytest.approx(-1.0033, abs=5e-5)


@pytest.mark.parametrize(
    ("t", "torques"),
    [
        (0.0, (1.256327099, -0.7037541426, 1.228120405)),
        (2.0, (7.174202351, 4.166600174, -0.6128158164)),
        (5.3, (-7.35321983, 10.17266901, 0.9511423473)),
    ],
)
def test_three_rrr(three_rrr, t, torques):
    _, found = three_rrr
    assert found.certificate.trusted
    for i, torque in enumerate(torques, 1):
        assert float(found[f"u{i}"][round(t / 0.1)]) == pytest.approx(torque, rel=1e-9, abs=1e-10)


def test_three_rrr_third_crank_and_power(three_rrr):
    w, found = three_rrr
    assert w.values(found, "crank3.omega")[0] == pytest.approx(0.8461489228, abs=1e-10)
    # The power of the torques is the rate of the kinetic energy.
    times = 5.3 + np.array([-2e-3, -1e-3, 0.0, 1e-3, 2e-3])
    near = da.inverse_dynamics(w, PLATFORM, times)
    energy = near.energy.kinetic.values
    rate = (energy[0] - 8 * energy[1] + 8 * energy[3] - energy[4]) / 12e-3
    power = sum(near[f"u{i}"].values[2] * w.values(near, f"crank{i}.omega")[2] for i in (1, 2, 3))
    assert power == pytest.approx(rate, rel=1e-8)


def test_both_formulations_of_inverse_dynamics_agree(whitworth, three_rrr):
    """Theorem 4.3 over nodes, and the balance over joint coordinates."""
    for (w, found), motion, names, every in (
        (whitworth, CRANK, ["u1"], 25), (three_rrr, PLATFORM, ["u1", "u2", "u3"], 10),
    ):  # fmt: skip
        nodes = by_nodes(w, motion, found.time.values[::every])
        for name in names:
            np.testing.assert_allclose(nodes[name].values, found[name].values[::every], atol=AGREE, rtol=0)


def test_pendulum_inverse():
    """The manual's pendulum: q = asin 0.6 − π sin πt from the horizontal; its joint has the torque's sign reversed."""
    w = da.library.planar_pendulum()
    start = float(2 * np.arcsin(0.6))
    law = {"O.angle": f"{start!r} - pi*sin(pi*t)"}
    times = [0.1, 0.2, 0.5, 1.3]
    expected = [-21.7479820883, -23.1662766803, 34.8753298130]
    nodes, model = by_nodes(w, law, times), da.inverse_dynamics(w, law, times)
    np.testing.assert_allclose(-nodes["u1"].values[1:], expected, rtol=0, atol=5e-10)
    np.testing.assert_allclose(-model["u1"].values[1:], expected, rtol=0, atol=5e-10)
    a = start - np.arcsin(0.6) - np.pi * np.sin(np.pi * 0.1)
    assert float(nodes["u1"][0]) == pytest.approx(np.pi**3 * np.sin(0.1 * np.pi) + 9.8 * np.cos(a), abs=1e-11)


def test_pendulum_period():
    """From (0.8, −0.6) at rest; the closed form by the complete elliptic integral."""
    w = da.library.planar_pendulum()
    half = np.sin((np.pi / 2 - np.arcsin(0.6)) / 2)
    period = 4 * np.sqrt(1 / 9.8) * ellipk(half**2)
    assert period == pytest.approx(2.12058924775, abs=5e-12)
    run = da.simulate(w, period, output_step=period / 2, rtol=1e-12, atol=1e-12)
    x, y = w.values(run, "bar.tip.x"), w.values(run, "bar.tip.y")
    assert (x[-1], y[-1]) == pytest.approx((0.8, -0.6), abs=1e-9)
    assert (x[1], y[1]) == pytest.approx((-0.8, -0.6), abs=1e-9)


def test_groups_of_the_three_rrr_give_the_same_accelerations():
    """Flat, as Mo2DPack has it, and as a tree of platform and legs."""
    w = da.library.three_rrr()
    legs = {f"leg{i}": [f"crank{i}", f"coupler{i}"] for i in "123"}
    flat, tree = w.equations(), w.to_subsystem(groups={"top": ["platform"], **legs}).equations()
    assert tree.degrees_of_freedom == flat.degrees_of_freedom == 3
    assert not tree.redundant and not flat.redundant
    torques = {"u1": 0.3, "u2": -0.2, "u3": 1.0}
    state = flat.consistent(torques)
    # In the tree pinned nodes are two variables: P1 of the platform is also the top of coupler 1, and so on.
    shared = {f"coupler{i}.top": f"platform.P{i}" for i in "123"} | {
        f"crank{i}.knee": f"coupler{i}.knee" for i in "123"
    }
    given = dict(torques)
    for name in tree.values({}):
        inner = name.partition(".")[2]
        body_node = ".".join(inner.split(".")[:2])
        plain = inner.replace(body_node, shared.get(body_node, body_node))
        if plain in state:
            given[name] = state[plain]
        elif inner in state:
            given[name] = state[inner]
    one = {str(label): value for label, value in flat.acceleration(state).items()}
    two = {str(label).partition(".")[2]: value for label, value in tree.acceleration(given).items()}
    compared = [name for name in one if name.endswith("omega.d")]
    assert len(compared) == 10
    for name in compared:
        assert two[name] == pytest.approx(one[name], abs=1e-10)
