"""C99 of whole runs: compiled by the machine's own compiler without a warning, the bits of the native run."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest
from test_live_runs import bouncing_ball, clutch

import dalembert as da
from dalembert import library
from dalembert.export.microcontroller import section_sizes

COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
compiled = pytest.mark.skipif(COMPILER is None, reason="no C compiler: set CC, or put cc, gcc or clang on PATH")
ARM = None
if importlib.util.find_spec("ziglang") is not None:
    ARM = [sys.executable, "-m", "ziglang", "cc", "-target", "arm-linux-musleabihf"]
FLAGS = ("-std=c99", "-Wall", "-Wextra", "-pedantic")

MODELS = {
    "tree, fixed steps": (lambda: library.build("pendulum"), {"integrator": "rk4", "step": 1e-3}),
    "loop": (library.four_bar, {"initial": {"A": 0.4}, "parameters": {"crank": 0.45}}),
    "events": (bouncing_ball, {}),
    "switch": (clutch, {}),
    "implicit": (library.four_bar, {"integrator": "radau"}),
    "quaternions": (lambda: library.build("spinning-top"), {}),
    "velocity constraints": (lambda: library.build("snakeboard"), {}),
    "a table": (lambda: library.build("quarter-car"), {}),
}


def build(files, folder, *more):
    """Compile; every warning is a failure. Returns what the linker made."""
    sources = [str(path) for path in files if path.suffix == ".c"]
    target = folder / "program"
    command = [str(COMPILER), *FLAGS, *more, *sources, "-lm", "-o", str(target)]
    made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert made.returncode == 0 and made.stderr == "", made.stderr[:2000]
    return target


@compiled
@pytest.mark.parametrize(
    "case",
    [case if case == "tree, fixed steps" else pytest.param(case, marks=pytest.mark.slow) for case in MODELS],
)
def test_main_makes_the_stored_run_again(case, tmp_path):
    make, options = MODELS[case]
    files = da.export_c(make(), tmp_path, 1.2, output_step=0.01, name="mechanism", **options)
    assert [path.name for path in files] == ["mechanism.h", "mechanism.c", "main.c"]
    told = subprocess.run([build(files, tmp_path, "-O1")], capture_output=True, text=True, check=False, timeout=60)
    assert told.returncode == 0, told.stdout
    match = re.fullmatch(r"status 0, (\d+) outputs, off by (\S+)\n", told.stdout)
    assert match is not None and int(match[1]) == 121 and float(match[2]) == 0.0
    text = files[1].read_text()
    assert not re.search(
        r"\b(malloc|calloc|realloc|free)\(", text.replace("dalembert_malloc(", "").replace("dalembert_free(", "")
    )


@compiled
@pytest.mark.slow
def test_functions_of_the_header(tmp_path):
    """Parameters change a run; the right-hand side is that of Python."""
    model = library.build("pendulum")
    files = da.export_c(model, tmp_path, 0.5, output_step=0.05)
    code = ctypes.CDLL(str(build(files[:2], tmp_path, "-O0", "-shared", "-fPIC")))
    double = ctypes.POINTER(ctypes.c_double)
    for name in ("parameters", "states", "times"):
        getattr(code, f"pendulum_{name}").restype = double
    names = list(da.compile(model).parameter_names)
    for length in (1.0, 0.8):
        code.pendulum_reset()
        code.pendulum_parameters()[names.index("length")] = length
        assert code.pendulum_run() == 0 and code.pendulum_outputs() == 11
        found = np.ctypeslib.as_array(code.pendulum_states(), (11, 3))
        run = da.simulate(model, 0.5, output_step=0.05, parameters={"length": length})
        assert np.abs(found[:, 0] - run.values("q")[:, 0]).max() < 1e-12
        assert np.array_equal(np.ctypeslib.as_array(code.pendulum_times(), (11,)), run.values("time"))
    state, rates = (ctypes.c_double * 3)(0.3, 0.5, 0.0), (ctypes.c_double * 3)()
    assert code.pendulum_rates(ctypes.c_double(0.0), state, rates) == 0
    wanted = da.compile(model).acceleration([0.3], [0.5], parameters={"length": 0.8})
    assert rates[0] == 0.5 and rates[1] == pytest.approx(wanted[0], rel=1e-14)


@compiled
@pytest.mark.slow
def test_names_of_strangers_do_nothing(tmp_path):
    model = da.Model('*/ int main(void){return 7;} /* "\\ %s')
    model.parameters(**{"length": 1.0})
    body = model.body("rod", mass=1, com=("length/2", 0, 0), inertia=(0, 0.1, 0.1))
    model.revolute("hinge", model.ground, body, point=(0, 0, 0), axis="y")
    files = da.export_c(model, tmp_path, 0.1, output_step=0.05)
    assert "*/ int main" not in files[0].read_text()
    assert subprocess.run([build(files, tmp_path, "-O0")], capture_output=True, check=False, timeout=60).returncode == 0


def elf_32(data):
    """Machine, flags, and names of the visible symbols that an ELF object of 32 bits defines and needs."""
    assert data[:7] == b"\x7fELF\x01\x01\x01" and struct.unpack_from("<H", data, 16) == (1,)  # relocatable
    machine, flags = struct.unpack_from("<H", data, 18)[0], struct.unpack_from("<I", data, 36)[0]
    start, (size, count) = struct.unpack_from("<I", data, 32)[0], struct.unpack_from("<HH", data, 46)
    sections = [struct.unpack_from("<10I", data, start + size * k) for k in range(count)]
    defined, needed = set(), set()
    for _, kind, _, _, at, length, names, *_ in sections:
        for place in range(at, at + length, 16) if kind == 2 else ():
            name, _, _, info, _, section = struct.unpack_from("<IIIBBH", data, place)
            if info >> 4:
                begin = sections[names][4] + name
                (defined if section else needed).add(data[begin : data.index(b"\0", begin)].decode())
    return machine, flags, defined, needed


PROCESSORS = {"cortex-m4": False, "cortex-m7": True}  # doubles in hardware


@pytest.mark.slow
def test_objects_for_micro_controllers(tmp_path):
    """ELF for ARM, nothing visible but its entries, no allocation; the report counts what is there."""
    files = da.export_c(
        library.build("pendulum"), tmp_path, 0.1, integrator="rk4", step=1e-3, output_step=0.1, name="swing",
        processors=list(PROCESSORS),
    )  # fmt: skip
    assert [path.name for path in files[3:6]] == ["swing_object.c", "swing.cortex-m4.o", "swing.cortex-m4.txt"]
    own = {"swing_native_malloc", "swing_native_free"}
    for processor, hardware in PROCESSORS.items():
        data = (tmp_path / f"swing.{processor}.o").read_bytes()
        machine, flags, defined, needed = elf_32(data)
        assert machine == 40 and flags >> 24 == 5  # ARM, the fifth version of its conventions
        assert defined == {"swing_native_run", "swing_native_rates", "swing_native_table"}
        assert own <= needed and all(one.startswith("__aeabi_") for one in needed - own - {"floor", "ceil", "sqrt"})
        assert ("__aeabi_dadd" in needed) is not hardware
        report = (tmp_path / f"swing.{processor}.txt").read_text()
        code = int(re.search(r"(\d+)  machine code", report)[1])
        count = int(re.search(r"Instructions: (\d+) in", report)[1])
        assert code == section_sizes(data)["code"] and 2 * count <= code <= 4 * count + 4000
        assert int(re.search(r"(\d+)  variables, in RAM", report)[1]) > 1000
    if ARM is None or shutil.which("qemu-arm") is None:
        pytest.skip("objects are linked and run where there are ziglang and qemu-arm")
    for processor in ("cortex-m4", "cortex-m7"):
        program = tmp_path / processor
        sources = [str(tmp_path / name) for name in ("main.c", "swing_object.c", f"swing.{processor}.o")]
        made = subprocess.run([*ARM, *FLAGS, *sources, "-o", str(program)], capture_output=True, text=True, check=False)
        assert made.returncode == 0 and made.stderr == "", made.stderr
        told = subprocess.run(["qemu-arm", str(program)], capture_output=True, text=True, check=False, timeout=300)
        assert told.stdout == "status 0, 2 outputs, off by 0\n", told.stdout


def test_what_cannot_be_written_is_said(tmp_path):
    with pytest.raises(da.DalembertError, match="processors: unknown 'z80'; there are cortex-m3"):
        da.export_c(library.build("pendulum"), tmp_path, 0.1, processors="z80")
    with pytest.raises(da.DalembertError, match="name must be a C identifier"):
        da.export_c(library.build("pendulum"), tmp_path, 0.1, name="my pendulum")
    with pytest.raises(da.DalembertError, match="run without Python"):
        da.export_c(library.build("pendulum"), tmp_path, 0.1, integrator="bdf")
