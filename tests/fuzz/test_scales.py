"""A mechanism in other units of length, mass and time moves alike, and its verdict is as strict."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import dalembert as da
from dalembert.dynamics import Dynamics
from dalembert.fuzz import check_models
from dalembert.fuzz.case import draw_case
from dalembert.fuzz.check_models import check_model
from dalembert.fuzz.random_mechanisms import random_model
from dalembert.fuzz.random_models import UNIT, Size
from dalembert.model.document import from_document

# Powers of two, so that rounding is the same in all units.
SIZES = [Size(2.0**-20), Size(2.0**20), Size(mass=2.0**20), Size(time=2.0**-20), Size(time=2.0**20),
         Size(2.0**-20, 2.0**-15, 2.0**-10), Size(2.0**18, 2.0**10, 2.0**12)]  # fmt: skip
SEEDS = [1, 2, 4, 5, 7, 8]


def _motion(seed: int, size: Size) -> tuple[np.ndarray, np.ndarray, Dynamics]:
    model = random_model(seed, size)
    run = da.simulate(
        model, 0.2 * size.time, integrator="rk4", step=size.time / 1000, output_step=size.time / 50, certify=False
    )
    assert run.certificate.finished
    return run.values("q"), run.values("u"), Dynamics(model)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_model_in_other_units_moves_alike(seed):
    q, u, _ = _motion(seed, UNIT)
    for size in SIZES:
        found_q, found_u, dynamics = _motion(seed, size)
        of_q, of_u = dynamics.coordinates.lengths(found_q[0])
        found_q, found_u = found_q / np.where(of_q, size.length, 1.0), found_u / np.where(of_u, size.length, 1.0)
        assert found_q == pytest.approx(q, rel=1e-9, abs=1e-9 * np.abs(q).max()), size
        assert found_u * size.time == pytest.approx(u, rel=1e-9, abs=1e-9 * np.abs(u).max()), size


def _cubic_spring(size: Size) -> da.Model:
    L, T = size.length, size.time
    model = da.Model("cubic spring", gravity=(0, 0, 0))
    model.body("cart", mass=1.0, com=(L, 0, 0), inertia=(L * L,) * 3)
    model.prismatic("rail", "ground", "cart", point=(L, 0, 0), axis="x")
    x = f"(x(cart)/{L!r} - 1)"
    model.force("drive", "cart", (f"{L / T**2!r}*(cos(1.3*t/{T!r}) - {x} - {x}**3)", 0, 0))
    return model


@pytest.mark.parametrize("length", [1e-6, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("time", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("how", [{}, {"integrator": "rk4", "step": 0.5}, {"integrator": "rk4", "step": 0.01}], ids=str)
def test_the_verdict_knows_no_meters(length, time, how):
    """Errors of a micrometer's motion were held against a centimeter: 2 % of the way were trusted as 1e-5 of it."""
    size = Size(length, time=time)
    options = {**how, "step": how["step"] * time} if how else how
    truth = da.simulate(_cubic_spring(UNIT), 20, output_step=0.2, rtol=1e-12, atol=1e-14, certify=False)
    run = da.simulate(_cubic_spring(size), 20 * time, output_step=0.2 * time, **options)
    worst = 0.0
    for name, unit in (("q", length), ("u", length / time)):
        right = truth.values(name)
        worst = max(worst, np.abs(run.values(name) / unit - right).max() / np.abs(right).max())
    error, accuracy = run.certificate.error, run.certificate.accuracy
    assert error is not None and accuracy is not None
    assert run.certificate.trusted == (error <= accuracy)
    assert worst <= accuracy or not run.certificate.trusted
    if how:
        assert run.certificate.trusted == (how["step"] < 0.1) and 0.5 * worst < error + 1e-9


def test_the_verdict_knows_slow_velocities():
    """Velocities of 100 km in five minutes were held against 1 km/s: their errors looked several times smaller."""
    L, T = 1e5, 300.0
    model = da.Model("pushed to and fro", gravity=(0, 0, 0))
    model.body("cart", mass=1.0, com=(L, 0, 0), inertia=(L * L,) * 3)
    model.prismatic("rail", "ground", "cart", point=(0, L, 0), axis="x")
    model.force("push", "cart", (f"{5 * L / T**2!r}*sin(20*t/{T!r})", 0, 0))
    given = {"output_step": T / 100, "initial_rates": {"rail": L / T}}
    run = da.simulate(model, 3 * T, integrator="euler", step=T / 1000, **given)
    right = da.simulate(model, 3 * T, integrator="dopri8", rtol=1e-11, certify=False, **given).values("u")
    error = run.certificate.error
    assert error is not None and error > 0.9 * np.abs(run.values("u") - right).max() / np.abs(right).max()


# A joint that turns and slides (rates and wrenches by SᵀS), quasi-velocities in SI, slow and fast times.
LONG = Size(2.0**20)
WAYS = [(7, LONG), (21, LONG), (24, LONG), (0, Size(time=2.0**10)), (4, Size(2.0**20, time=2.0**-10))]


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "size"), WAYS, ids=str)
def test_all_ways_agree_in_other_units(seed, size):
    judged = check_model(random_model(seed, size), seed, size=size)
    assert judged.comparisons > 5 and not judged.findings and judged.worst < 2e-10


def test_massless_points_find_their_balance_alone():
    """The joints that they hang on gave way by 1e-8."""
    dynamics = Dynamics(random_model(1), "auto", "relative")
    found, drawn = da.assemble(dynamics).q, dynamics.coordinates.drawn()
    moved = np.flatnonzero(np.abs(found - drawn) > 1e-15)
    assert [dynamics.q_names[i] for i in moved] == [dynamics.q_names[1]]


def test_a_page_judges_by_the_size_of_the_mechanism(tmp_path):
    run = da.simulate(_cubic_spring(Size(1e-6)), 1.0, output_step=0.1)
    run.live(tmp_path / "run.html")
    found = re.search(r'"units":(\[[^\]]*\])', (tmp_path / "run.html").read_text(encoding="utf-8"))
    assert found and all(1e-7 <= unit <= 1e-5 for unit in json.loads(found[1]))


def test_states_of_fast_giants_are_taken():
    """Rounding of 2e8 m/s was held against 1e-8 m/s: a batch refused the start of a run that was trusted."""
    L, T = 6e5, 0.013
    model = da.Model("two slides", gravity=(0, -9.81 * L / T**2, 0))
    for name, at in (("a", (-173225.77, 117930.85, 0)), ("b", (-124919.14, 380883.33, 0))):
        model.body(name, mass=3e5, com=at, inertia=(6e15, 6e15, 6e15))
    model.prismatic("A", "ground", "a", point=(0, 0, 0), axis=(0.9963283415547273, -0.08561446031370396, 0))
    model.prismatic("B", "a", "b", point=(-346451.55, 235861.69, 0), axis=(0.8058915693127474, -0.5920631541572547, 0))
    how = {"coordinates": "natural", "integrator": "radau", "output_step": T / 10}
    run = da.simulate(model, T, initial_rates={"A": -221170601.6936013, "B": 63564150.77684146}, **how)
    first = {"q": np.tile(run.values("q")[0], (2, 1)), "u": np.tile(run.values("u")[0], (2, 1))}
    batch = da.simulate_many(model, T, **how, **first)
    np.testing.assert_array_equal(np.asarray(batch.data["q"])[1], run.values("q"))
    first["u"][1, 0] += 1e-6 * np.abs(first["u"]).max()
    with pytest.raises(da.DalembertError, match=r"violate the constraints, e\.g\. sample 1"):
        da.simulate_many(model, T, **how, **first)


def _bar_at_a_stop(length: float, start: float, restitution: float) -> da.Model:
    """A bar that falls onto a stop under the gravity of the earth."""
    model = da.Model("bar at a stop", gravity=(0, 0, -9.81))
    model.body("bar", mass=1.0, com=(length, 0, 0), inertia=(length**2 / 3,) * 3)
    model.revolute("pin", "ground", "bar", point=(0, 0, 0), axis="y")
    model.initial("pin", 0.3 - start)
    model.limit("stop", "z(bar)", lower=-length * float(np.sin(0.3)), restitution=restitution)
    return model


@pytest.mark.parametrize("length", [1e-6, 1e6])
@pytest.mark.parametrize(("start", "restitution"), [(0.5, 0.5), (0.5, 0.0), (1e-3, 0.5), (0.0, 0.5)])
def test_contacts_know_no_meters(length, start, restitution):
    """Gaps below 1e-9 m were closed: a bar of 1000 km fell through its stop, one of a micrometer never fell."""
    run, same = (
        da.simulate(_bar_at_a_stop(size, start, restitution), 2.0 * time, output_step=0.01 * time)
        for size, time in ((length, length**0.5), (1.0, 1.0))
    )
    assert run.certificate.trusted and same.certificate.trusted
    assert run.values("q") == pytest.approx(same.values("q"), abs=1e-9)
    assert bool(run.events) == bool(same.events) == (start > 0)


@pytest.mark.parametrize("length", [1e-6, 1.0, 1e6])
def test_what_is_within_a_stop_is_refused_at_every_size(length):
    da.assemble(_bar_at_a_stop(length, -1e-10, 0.5))
    for call in (lambda model: da.assemble(model), lambda model: da.simulate(model, 0.1 * length**0.5)):
        with pytest.raises(da.DalembertError, match="beyond its limit"):
            call(_bar_at_a_stop(length, -1e-8, 0.5))


@pytest.mark.parametrize("length", [1e-6, 1e6])
def test_a_block_of_any_size_rocks_until_it_stands(length):
    """An edge that lay 1e-10 m below the floor, by rounding, as the other one hit it fell through."""
    run, same = (
        da.simulate(da.library.rocking_block(width=0.2 * size, height=0.6 * size, tilt=1e-3), 0.5 * time,
                    output_step=0.005 * time)
        for size, time in ((length, length**0.5), (1.0, 1.0))
    )  # fmt: skip
    assert run.certificate.trusted and len(run.events) > 40
    found, right = run.values("q") / (length, length, 1.0), same.values("q")
    assert found == pytest.approx(right, abs=1e-9) and np.abs(right[-1]).max() < 1e-12


@pytest.mark.parametrize("length", [1e-6, 1.0, 1e6])
def test_a_prescribed_motion_into_a_stop_is_not_trusted_at_any_size(length):
    """A ten-thousandth of the size beyond a stop was no penetration where this was 1e-10 m."""
    for depth, trusted in ((1e-4, False), (-1e-4, True)):
        model = _bar_at_a_stop(length, 0.5, 0.0)
        certificate = da.inverse_dynamics(model, {"pin": f"0.3*t + {depth!r}*t"}, 1.0).certificate
        assert certificate.trusted == trusted and ("beyond" in str(certificate)) == (not trusted)


def test_a_distance_beyond_all_numbers_is_refused_in_words():
    """Its length, by squares, is infinite: no unit of length fits it."""
    model = da.Model("far", gravity=(0, 0, -9.81))
    model.body("a", mass=1, com=(0, 0, -1e308), inertia=(1, 1, 1))
    model.screw("A", "ground", "a", point=(0, 0, 0), axis="x", pitch=0.1)
    with pytest.raises(da.DalembertError), np.errstate(all="ignore"):
        da.simulate(model, 1.0)


def test_maggi_next_to_a_dead_point_of_its_velocities_at_ten_kilometers():
    """There it takes the equations with multipliers, in units of their own size as the others do."""
    case = draw_case("models", 801000092)
    at = check_models._Instant(from_document(case["model"]), case["seed"], Size(case["length"], time=case["time"]))
    assert check_models._way(at, "maggi", "generalized") < 1e-9
