"""FMUs: valid, equal to da.simulate in Model Exchange and in Co-Simulation, of the right format for every platform."""

from __future__ import annotations

import importlib.util
import struct
import zipfile

import numpy as np
import pytest
import scipy.integrate
from test_live_runs import bouncing_ball

import dalembert as da
from dalembert import library
from dalembert.analyses.simulation.make_device import make_device
from dalembert.export import fmu_archive, native_device
from dalembert.export.fmu_archive import PLATFORMS, this_platform
from dalembert.export.native_device import serve

fmpy = pytest.importorskip("fmpy", reason="FMPy runs FMUs: pip install 'dalembert[test]'")
from fmpy.validation import validate_fmu  # noqa: E402

HERE = this_platform()
compiled = pytest.mark.skipif(
    HERE is None or fmu_archive._command(HERE) is None, reason="no C compiler: set CC, or pip install 'dalembert[fmu]'"
)
# What two programs with different integrators may differ by; both integrate at 1e-11.
SAME = 1e-7
TIGHT = {"rtol": 1e-11, "atol": 1e-11}


def cart(force: str = "push") -> da.Model:
    """A cart with a pendulum, pushed by a force."""
    model = da.Model("cart", gravity=(0, -9.81, 0))
    model.parameters(mass=2.0)
    model.input("push")
    body = model.body("cart", mass="mass", inertia=(1, 1, 1))
    pole = model.body("pole", mass=0.5, com=(0, -0.5, 0), inertia=(0.05, 0.01, 0.05))
    rail = model.prismatic("rail", model.ground, body, point=(0, 0, 0), axis="x")
    model.revolute("hinge", body, pole, point=(0, 0, 0), axis="z")
    model.joint_force("motor", rail, force)
    model.initial("hinge", 1.0)
    return model


CASES = {
    "pendulum": (lambda: library.build("pendulum"), {"integrator": "dopri8"}, {"q0(pivot)": 0.7, "length": 0.8}),
    "four-bar": (library.four_bar, {}, {"q0(A)": 0.6, "crank": 0.38}),
    "cart": (cart, {"inputs": ["mass"]}, {"push": 1.5, "mass": 2.5}),
    "ball": (bouncing_ball, {}, {"q0(drop)": 0.2}),
}
VERSIONS = {"pendulum": 3, "four-bar": 3, "cart": 2, "ball": 2}


@pytest.fixture(scope="module")
def units(tmp_path_factory):
    """FMUs by name, each made once, by compilers that do not optimize: the numbers are the same."""
    made = {}

    def get(case):
        if case not in made:
            make, options, _ = CASES[case]
            path = tmp_path_factory.mktemp("fmu") / f"{case}.fmu"
            kept = fmu_archive._OPTIONS
            fmu_archive._OPTIONS = tuple("-O0" if option == "-O2" else option for option in kept)
            made[case] = da.export_fmu(make(), path, 1.5, version=VERSIONS[case], **TIGHT, **options)
            fmu_archive._OPTIONS = kept
        return made[case]

    return get


def reference(model: da.Model, given: dict[str, float], duration: float, **options) -> da.Trajectory:
    starts = {name[3:-1]: value for name, value in given.items() if name.startswith("q0(")}
    values = {name: value for name, value in given.items() if not name.startswith("q0(")}
    return da.simulate(model, duration, initial=starts, parameters=values, output_step=0.05, **TIGHT, **options)


def off(found, run: da.Trajectory) -> float:
    """The largest difference of joint coordinates and velocities, relative to their size."""
    assert np.allclose(found["time"], run.values("time"), atol=1e-12)
    names = {f"q({name})": run.values("joint_coordinates")[:, k] for k, name in enumerate(run.values("joint_q"))}
    names |= {f"u({name})": run.values("joint_velocities")[:, k] for k, name in enumerate(run.values("joint_u"))}
    sizes = {name: max(1.0, float(np.abs(values).max())) for name, values in names.items()}
    return max(float(np.abs(found[name] - values).max()) / sizes[name] for name, values in names.items())


def play(path, kind: str, duration: float, **more):
    return fmpy.simulate_fmu(
        str(path), stop_time=duration, output_interval=0.05, fmi_type=kind, relative_tolerance=1e-11, solver="CVode",
        record_events=False, **more,
    )  # fmt: skip


@pytest.mark.slow
def test_quaternions_keep_their_sign():
    """A ball joint that closes a loop turns past 180°: its quaternion goes on, as that of da.simulate does."""
    run = da.simulate(library.build("slider-crank-3d"), 0.4, output_step=0.05, certify=False)
    made = make_device(run)
    device, at = made.device, int(made.device.live.watch.ball[0])
    wanted = run.values("joint_coordinates")[
        :, [list(run.values("joint_q")).index(f"ball_joint[{i}]") for i in range(4)]
    ]
    assert wanted[:, 0].min() < -0.5 < 0.9 < wanted[:, 0].max()
    assert serve(device, native_device.BEGIN) == 0
    for t, q in zip(run.values("time")[1:], wanted[1:], strict=True):
        device.target = t
        assert serve(device, native_device.STEP) == 0
        assert np.abs(device.seen[at : at + 4] - q).max() < 1e-9


@compiled
@pytest.mark.parametrize(
    "case", [case if case == "pendulum" else pytest.param(case, marks=pytest.mark.slow) for case in CASES]
)
def test_runs_are_those_of_simulate(case, units):
    make, _, changed = CASES[case]
    path = units(case)
    assert validate_fmu(str(path)) == []
    for given in ({}, changed):
        run = reference(make(), given, 1.5)
        for kind in ("CoSimulation", "ModelExchange"):
            assert off(play(path, kind, 1.5, start_values=dict(given)), run) < SAME, (kind, given)


def opened(path):
    """A unit for model exchange, and the numbers of its variables by name."""
    description = fmpy.read_model_description(str(path))
    unit = fmpy.instantiate_fmu(fmpy.extract(str(path)), description, fmi_type="ModelExchange")
    return unit, {v.name: v.valueReference for v in description.modelVariables}


@compiled
@pytest.mark.slow
def test_inputs_change_while_it_runs(units):
    """An input that jumps; and a controller outside, which sees outputs and sets the input."""
    path = units("cart")
    unit, number = opened(path)
    jump = np.array([(0, 0), (0.5, 0), (0.5, 2), (2, 2)], dtype=[("time", float), ("push", float)])
    stepped = reference(cart("0 if t < 0.5 else 2"), {}, 1.5)
    for kind in ("ModelExchange", "CoSimulation"):
        assert off(play(path, kind, 1.5, input=jump), stepped) < SAME
    unit.setupExperiment(startTime=0.0)
    unit.enterInitializationMode()
    unit.exitInitializationMode()
    unit.newDiscreteStates()
    unit.enterContinuousTimeMode()
    x, dx = np.zeros(4), np.zeros(4)
    px, pdx = np.ctypeslib.as_ctypes(x), np.ctypeslib.as_ctypes(dx)
    unit.getContinuousStates(px, 4)

    def rates(t, state):
        x[:] = state
        unit.setTime(t)
        unit.setContinuousStates(px, 4)
        place, speed = unit.getReal([number["q(rail)"], number["u(rail)"]])
        unit.setReal([number["push"]], [-20 * place - 5 * speed + 3])
        unit.getDerivatives(pdx, 4)
        return dx.copy()

    found = scipy.integrate.solve_ivp(rates, (0, 1.5), x.copy(), method="DOP853", rtol=1e-11, atol=1e-11).y[:, -1]
    unit.freeInstance()
    run = reference(cart("-20*q(rail) - 5*u(rail) + 3"), {}, 1.5)
    wanted = np.concatenate([run.values("q")[-1], run.values("u")[-1]])
    assert np.abs(found - wanted).max() < SAME


@compiled
@pytest.mark.slow
def test_functions_besides_a_run(units):
    """Directional derivatives, snapshots, refusals."""
    unit, number = opened(units("four-bar"))
    unit.enterInitializationMode(startTime=0.0)
    unit.exitInitializationMode()
    unit.updateDiscreteStates()
    unit.enterContinuousTimeMode()
    # ∂u̇/∂z by wide differences, and by the FMU.
    knowns, unknowns = [number["state.1"]], [number["der(state.2)"]]
    found = unit.getDirectionalDerivative(unknowns, knowns, [1.0])[0]
    dx = np.zeros((2, 2))
    states = np.array(unit.getFloat64([number["state.1"], number["state.2"]]))
    for k, h in enumerate((-1e-5, 1e-5)):
        moved = states + np.array([h, 0.0])
        unit.setContinuousStates(np.ctypeslib.as_ctypes(moved), 2)
        dx[k] = unit.getFloat64([number["der(state.1)"], number["der(state.2)"]])
    assert found == pytest.approx((dx[1, 1] - dx[0, 1]) / 2e-5, rel=1e-6)
    unit.setContinuousStates(np.ctypeslib.as_ctypes(states), 2)
    # What was kept comes back.
    kept = unit.getFMUState()
    before = unit.getFloat64([number["der(state.2)"]])
    unit.setFloat64([number["crank"]], [0.3])
    assert unit.getFloat64([number["der(state.2)"]]) != before
    unit.setFMUState(kept)
    assert unit.getFloat64([number["der(state.2)"]]) == before
    unit.freeFMUState(kept)
    with pytest.raises(Exception, match="status"):
        unit.setFloat64([number["q0(A)"]], [0.1])  # too late
    with pytest.raises(Exception, match="status"):
        unit.setFloat64([number["crank"]], [float("nan")])
    unit.freeInstance()


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="other platforms: pip install 'dalembert[fmu]'")
def test_files_for_all_platforms_have_their_format(tmp_path):
    path = da.export_fmu(
        library.build("pendulum"), tmp_path / "x.fmu", 1.0, platforms="all", integrator="rk4", step=0.01
    )
    with zipfile.ZipFile(path) as archive:
        data = {name: archive.read(f"binaries/{one.folder}/pendulum.{one.suffix}") for name, one in PLATFORMS.items()}
    assert validate_fmu(str(path)) == []
    for name, machine in (("linux-x86-64", 62), ("linux-arm64", 183)):
        assert data[name][:6] == b"\x7fELF\x02\x01" and struct.unpack_from("<HH", data[name], 16) == (3, machine)
    for name, machine in (("macos-x86-64", 0x01000007), ("macos-arm64", 0x0100000C)):
        magic, cpu, _, kind = struct.unpack_from("<IIII", data[name])
        assert (magic, cpu, kind) == (0xFEEDFACF, machine, 6)
    at = struct.unpack_from("<I", data["windows-x86-64"], 60)[0]
    assert data["windows-x86-64"][:2] == b"MZ" and data["windows-x86-64"][at : at + 6] == b"PE\0\0\x64\x86"
    for one in data.values():
        assert b"fmi3GetContinuousStateDerivatives" in one


def test_states_are_chosen_anew_where_the_choice_wears_out():
    """A mass on a circle, in x and y: neither can be the state all around. The motion does not notice."""
    model = da.Model("circle", gravity=(0, -9.81, 0))
    slide = model.body("slide", mass=0.1, inertia=(1, 1, 1))
    mass = model.body("mass", mass=1, inertia=(1, 1, 1))
    model.prismatic("x", model.ground, slide, point=(0, 0, 0), axis="x")
    model.prismatic("y", slide, mass, point=(0, 0, 0), axis="y")
    model.constraint("rod", "q(x)**2 + q(y)**2 - 1")
    model.initial("x", 1.0)
    model.initial("y", 0.0, rate=-7.0)
    run = da.simulate(model, 1.5, output_step=0.5, **TIGHT)
    device = make_device(run).device
    device.exchange = True
    assert serve(device, native_device.BEGIN) == 0

    def rates(t, s):
        device.time, device.states[:] = t, s
        assert serve(device, native_device.RATES) == 0
        return device.rates.copy()

    h, chosen = 5e-4, 0
    for k in range(3000):
        t, s = k * h, device.states.copy()
        k1 = rates(t, s)
        k2 = rates(t + h / 2, s + h / 2 * k1)
        k3 = rates(t + h / 2, s + h / 2 * k2)
        k4 = rates(t + h, s + h * k3)
        device.time, device.states[:] = t + h, s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        assert serve(device, native_device.COMPLETE) == 0
        if device.again:
            chosen += 1
            assert serve(device, native_device.EVENTS) == 0
    assert chosen > 4
    wanted = np.concatenate([run.values("q")[-1], run.values("u")[-1]])
    assert np.abs(device.x[:-1] - wanted).max() < 1e-6


def test_source_only_and_names_of_strangers(tmp_path):
    model = da.Model('*/ <x a="">&"')
    model.parameters(length=1.0)
    body = model.body("rod", mass=1, com=("length/2", 0, 0), inertia=(0, 0.1, 0.1))
    model.revolute("hinge", model.ground, body, point=(0, 0, 0), axis="y")
    path = da.export_fmu(model, tmp_path / "x.fmu", 1.0, platforms=[], integrator="rk4", step=0.01)
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    assert sorted(names) == ["modelDescription.xml", "sources/buildDescription.xml", "sources/x_a.c"]
    assert validate_fmu(str(path)) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"version": 1}, "FMI 2 and 3"),
        ({"platforms": "amiga"}, "unknown 'amiga'"),
        ({"platforms": "macos-arm64", "version": 2}, "FMI 2 has no name"),
        ({"inputs": "force"}, r"inputs=\['force'\]"),
        ({"inputs": ["force"], "platforms": []}, "unknown .'force'.; the parameters are"),
        ({"coordinates": "absolute", "platforms": []}, "relative coordinates"),
    ],
)
def test_what_cannot_be_written_is_said(options, message, tmp_path):
    with pytest.raises(da.DalembertError, match=message):
        da.export_fmu(library.build("pendulum"), tmp_path / "x.fmu", 0.1, **options)
    with pytest.raises(da.DalembertError, match=r"ends in \.fmu"):
        da.export_fmu(library.build("pendulum"), tmp_path / "x.zip", 0.1)
