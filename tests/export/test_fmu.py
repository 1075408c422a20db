"""FMUs: valid, equal to da.simulate in Model Exchange and in Co-Simulation, of the right format for every platform."""

from __future__ import annotations

import importlib.util
import re
import struct
import subprocess
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


def unoptimized() -> tuple[str, ...]:
    """Options of compilers for a quick answer."""
    return tuple("-O0" if option == "-O2" else option for option in fmu_archive._OPTIONS)


@pytest.fixture(scope="module")
def units(tmp_path_factory):
    """FMUs by name, each made once, by compilers that do not optimize: the numbers are the same."""
    made = {}

    def get(case):
        if case not in made:
            make, options, _ = CASES[case]
            path = tmp_path_factory.mktemp("fmu") / f"{case}.fmu"
            kept = fmu_archive._OPTIONS
            fmu_archive._OPTIONS = unoptimized()
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
    # A trial state out of reach is no error: the importer may try a smaller step.
    unit.setContinuousStates(np.ctypeslib.as_ctypes(np.array([1e9, 0.0])), 2)
    with pytest.raises(Exception, match=r"status 2 \(discard\)"):
        unit.getContinuousStateDerivatives(np.ctypeslib.as_ctypes(np.zeros(2)), 2)
    unit.setContinuousStates(np.ctypeslib.as_ctypes(states), 2)
    assert unit.getFloat64([number["der(state.2)"]]) == pytest.approx(before, rel=1e-9)
    with pytest.raises(Exception, match="status"):
        unit.setFloat64([number["q0(A)"]], [0.1])  # too late
    with pytest.raises(Exception, match="status"):
        unit.setFloat64([number["crank"]], [float("nan")])
    unit.freeInstance()


def text_at(data, at):
    return data[at : data.index(b"\0", at)].decode()


def elf_64(data):
    """(machine, visible names) of a shared library in ELF, 64 bits."""
    assert data[:6] == b"\x7fELF\x02\x01" and struct.unpack_from("<H", data, 16) == (3,)
    start, (size, count) = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + size * k) for k in range(count)]
    found = set()
    for _, kind, _, _, at, length, names, *_ in sections:
        for place in range(at, at + length, 24) if kind == 11 else ():  # dynamic symbols
            name, info, _, section = struct.unpack_from("<IBBH", data, place)
            if info >> 4 and section:
                found.add(text_at(data, sections[names][4] + name))
    return struct.unpack_from("<H", data, 18)[0], found


def pe_64(data):
    """(machine, visible names) of a shared library in PE, 64 bits."""
    at = struct.unpack_from("<I", data, 60)[0]
    assert data[:2] == b"MZ" and data[at : at + 4] == b"PE\0\0"
    machine, count = struct.unpack_from("<HH", data, at + 4)
    size, kind = struct.unpack_from("<HH", data, at + 20)
    assert kind & 0x2000  # a library
    sections = [struct.unpack_from("<IIII", data, at + 24 + size + 40 * k + 8) for k in range(count)]

    def place(address):
        return next(address - begin + where for n, begin, _, where in sections if begin <= address < begin + n)

    table = place(struct.unpack_from("<I", data, at + 24 + 112)[0])
    names, listed = struct.unpack_from("<I", data, table + 24)[0], place(struct.unpack_from("<I", data, table + 32)[0])
    return machine, {text_at(data, place(struct.unpack_from("<I", data, listed + 4 * k)[0])) for k in range(names)}


def mach_o_64(data):
    """(machine, visible names) of a shared library in Mach-O, 64 bits."""
    magic, machine, _, kind, commands = struct.unpack_from("<IIIII", data)
    assert (magic, kind) == (0xFEEDFACF, 6)
    at, found = 32, set()
    for _ in range(commands):
        command, size = struct.unpack_from("<II", data, at)
        if command == 2:  # the table of symbols
            symbols, count, strings = struct.unpack_from("<III", data, at + 8)
            for place in range(symbols, symbols + 16 * count, 16):
                name, kind, section = struct.unpack_from("<IBB", data, place)
                if kind & 1 and section:
                    found.add(text_at(data, strings + name).removeprefix("_"))
        at += size
    return machine, found


FORMATS = {
    "linux-x86-64": (elf_64, 62), "linux-arm64": (elf_64, 183), "windows-x86-64": (pe_64, 0x8664),
    "macos-x86-64": (mach_o_64, 0x01000007), "macos-arm64": (mach_o_64, 0x0100000C),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("version", [3, 2])
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="other platforms: pip install 'dalembert[fmu]'")
def test_files_for_all_platforms_have_their_format(version, tmp_path, monkeypatch):
    """The format of each, for its processor, with all functions of FMI and nothing else to be seen."""
    monkeypatch.setattr(fmu_archive, "_OPTIONS", unoptimized())
    path = da.export_fmu(
        library.build("pendulum"),
        tmp_path / "x.fmu",
        1.0,
        version=version,
        platforms="all",
        integrator="rk4",
        step=0.01,
    )
    assert validate_fmu(str(path)) == []
    with zipfile.ZipFile(path) as archive:
        source = archive.read("sources/pendulum.c").decode()
        functions = set(re.findall(rf"NAME\((fmi{version}[A-Z]\w+)\)", source))
        for kind in re.findall(r"^NO_TYPE\((\w+),", source, re.MULTILINE):
            functions |= {f"fmi{version}Get{kind}", f"fmi{version}Set{kind}"}
        wanted = {(one.folder if version == 3 else one.old_folder): name for name, one in PLATFORMS.items()}
        wanted.pop(None, None)
        found = {name.split("/")[1]: name for name in archive.namelist() if name.startswith("binaries/")}
        assert found.keys() == wanted.keys() and len(functions) > 30
        for folder, name in wanted.items():
            read, machine = FORMATS[name]
            # Linkers add names of their own, none of which is ours.
            assert found[folder].endswith(f"/pendulum.{PLATFORMS[name].suffix}")
            kind, names = read(archive.read(found[folder]))
            assert kind == machine and {one for one in names if one.startswith("fmi")} == functions, name
            assert not {one for one in names if "dalembert" in one or one in ("serve", "fill", "relink")}


def circle() -> da.Model:
    """A mass on a circle, in x and y."""
    model = da.Model("circle", gravity=(0, -9.81, 0))
    slide = model.body("slide", mass=0.1, inertia=(1, 1, 1))
    mass = model.body("mass", mass=1, inertia=(1, 1, 1))
    model.prismatic("x", model.ground, slide, point=(0, 0, 0), axis="x")
    model.prismatic("y", slide, mass, point=(0, 0, 0), axis="y")
    model.constraint("rod", "q(x)**2 + q(y)**2 - 1")
    model.initial("x", 1.0)
    model.initial("y", 0.0, rate=-7.0)
    return model


def test_states_are_chosen_anew_where_the_choice_wears_out():
    """On a circle neither x nor y can be the state all around. The motion does not notice."""
    run = da.simulate(circle(), 1.5, output_step=0.5, **TIGHT)
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


def test_trial_states_may_lie_far_from_each_other():
    """Andrews' squeezer: importers that tell of no step between two outputs, and trial states there and back."""
    run = da.simulate(library.build("andrews"), 0.0105, output_step=0.0005, certify=False, **TIGHT)
    device = make_device(run).device
    device.exchange = True
    assert serve(device, native_device.BEGIN) == 0
    nv = device.at_windings
    (z,) = np.flatnonzero(device.y[device.at_positions : device.at_positions + nv])
    (v,) = np.flatnonzero(device.y[device.at_velocities : device.at_velocities + nv])
    t, q, u = run.values("time"), run.values("q"), run.values("u")
    n = len(t)
    assert np.ptp(q[:, z]) > 2.0
    for k in (*range(n), 0, n - 1, n // 2, 3, n - 2):
        device.time, device.states[:] = t[k], (q[k, z] - q[0, z], u[k, v])
        assert serve(device, native_device.RATES) == 0 and serve(device, native_device.OBSERVE) == 0
        assert np.abs(device.x[: 2 * nv] - np.concatenate([q[k], u[k]])).max() < 1e-6 * np.abs(u[k]).max() + 1e-7


def test_states_that_cannot_be_closed_change_nothing():
    """A trial state out of reach fails; the next one is found from where the mechanism was."""
    device = make_device(da.simulate(circle(), 0.1, certify=False)).device
    device.exchange = True
    assert serve(device, native_device.BEGIN) == 0
    device.states[0] = 0.3
    assert serve(device, native_device.RATES) == 0 and serve(device, native_device.OBSERVE) == 0
    rates, x = device.rates.copy(), device.x.copy()
    for wrong in (1.2, -1.5, 40.0, -1e9):
        device.states[0] = wrong
        assert serve(device, native_device.RATES) != 0 and serve(device, native_device.INDICATE) != 0
    device.states[0] = 0.3
    assert serve(device, native_device.RATES) == 0 and serve(device, native_device.OBSERVE) == 0
    assert np.abs(device.rates - rates).max() < 1e-12 and np.abs(device.x - x).max() < 1e-12


def test_source_only_and_names_of_strangers(tmp_path):
    model = da.Model('*/ <x a="">&"')
    model.parameters(length=1.0)
    body = model.body("rod", mass=1, com=("length/2", 0, 0), inertia=(0, 0.1, 0.1))
    model.revolute("hinge", model.ground, body, point=(0, 0, 0), axis="y")
    for version, more in ((3, ["sources/buildDescription.xml"]), (2, [])):
        path = da.export_fmu(model, tmp_path / "x.fmu", 1.0, version=version, platforms=[], integrator="rk4", step=0.01)
        with zipfile.ZipFile(path) as archive:
            names, source = archive.namelist(), archive.read("sources/x_a.c")
        assert sorted(names) == ["modelDescription.xml", *more, "sources/x_a.c"]
        assert validate_fmu(str(path)) == []
        if compiler := fmu_archive._compiler():
            command = [*compiler, "-std=c99", "-Wall", "-Wextra", "-pedantic", "-fsyntax-only", "-x", "c", "-"]
            said = subprocess.run(command, input=source, capture_output=True, check=False, timeout=600)
            assert (said.returncode, said.stderr) == (0, b"")


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
