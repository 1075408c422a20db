"""Result files and checkpoints: what was changed, cut short or made up is refused in words; full disks do no harm."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from support.pauses import leave_checkpoint

import dalembert as da
from dalembert.atomic import remove_parts
from dalembert.errors import DalembertError
from dalembert.netcdf import read_sealed, write_sealed

MARK = b"\ndalembert-sha256 "


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    run = da.simulate(da.library.pendulum(), 1.0, output_step=0.1)
    return run.save(folder / "run.nc")


def _resealed(content: bytes) -> bytes:
    body = content[: content.rfind(MARK)]
    return body + MARK + hashlib.sha256(body).hexdigest().encode()


def test_a_sealed_file_is_read_by_others_too(saved):
    assert da.load(saved).certificate.trusted
    np.testing.assert_array_equal(xr.load_dataset(saved, engine="h5netcdf").q, da.load(saved).data.q)


def with_one_bit_changed(original, file, times, seed):
    """The file, so many times, each time with another bit of the original changed."""
    content, rng = original.read_bytes(), np.random.default_rng(seed)
    for at in rng.integers(0, len(content), times):
        damaged = bytearray(content)
        damaged[at] ^= 1 << rng.integers(8)
        file.write_bytes(damaged)
        yield file


def test_every_changed_byte_is_noticed(saved, tmp_path):
    for file in with_one_bit_changed(saved, tmp_path / "run.nc", 60, seed=0):
        with pytest.raises(DalembertError, match=r"changed or damaged|changed by another|not a result|this version"):
            da.load(file)


@pytest.mark.parametrize("kept", [0, 1, 100, 1000, -1, -50, -90, -200])
def test_a_file_cut_short_is_refused(saved, tmp_path, kept):
    file = tmp_path / "run.nc"
    file.write_bytes(saved.read_bytes()[:kept])
    with pytest.raises(DalembertError, match=r"run\.nc"):
        da.load(file)


@pytest.mark.parametrize(
    "change",
    [
        {"certificate": "[]"},
        {"certificate": '{"checks": 3, "remarks": []}'},
        {"certificate": None},
        {"model_file": "name: 3"},
        {"model_file": None},
        {"recipe": "{}"},
        {"recipe": "[1]"},
        {"held_ranks": "[[1]]"},
        {"dalembert_format": 99},
        {"dalembert_format": "three"},
    ],
    ids=str,
)
def test_made_up_notes_are_refused_in_words(saved, tmp_path, change):
    data = read_sealed(saved)[0]
    for key, value in change.items():
        data.attrs[key] = value
        if value is None:
            del data.attrs[key]
    file = write_sealed(tmp_path / "run.nc", data)
    with pytest.raises(DalembertError, match=r"run\.nc"):
        da.load(file)


def test_a_made_up_estimate_beyond_all_floats_is_refused_in_words(saved, tmp_path):
    data = read_sealed(saved)[0]
    notes = json.loads(data.attrs["certificate"])
    notes["estimate"]["growth"] = 10**400
    data.attrs["certificate"] = json.dumps(notes)
    with pytest.raises(DalembertError, match=r"run\.nc is damaged"):
        da.load(write_sealed(tmp_path / "run.nc", data))


def test_made_up_arrays_are_refused_in_words(saved, tmp_path):
    data = read_sealed(saved)[0]
    named = data.assign_coords(coordinate=["other"] * data.sizes["coordinate"])
    for other in (data.drop_vars("coordinate"), named):
        with pytest.raises(DalembertError, match="is damaged"):
            da.load(write_sealed(tmp_path / "run.nc", other))


def test_a_file_that_another_program_wrote_again_is_refused(saved, tmp_path):
    data = xr.load_dataset(saved, engine="h5netcdf")
    data["q"] = data.q + 1
    data.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    with pytest.raises(DalembertError, match=r"changed by another program.*xarray.load_dataset"):
        da.load(tmp_path / "run.nc")


def test_a_file_of_the_version_before_has_no_seal_and_is_read(saved, tmp_path):
    data = read_sealed(saved)[0].assign_attrs(dalembert_format=2)
    data.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    np.testing.assert_array_equal(da.load(tmp_path / "run.nc").data.q, data.q)


def test_what_is_no_result_at_all(tmp_path):
    (tmp_path / "text.nc").write_text("hello")
    with pytest.raises(DalembertError, match="not a result"):
        da.load(tmp_path / "text.nc")
    with pytest.raises(DalembertError, match="no such file"):
        da.load(tmp_path / "nothing.nc")
    with pytest.raises(DalembertError, match="cannot be read"):
        da.load(tmp_path)
    with pytest.raises(DalembertError, match=r"is a model, not a result.  Fix: da.read"):
        da.load(tmp_path / "model.yaml")
    with pytest.raises(DalembertError, match="path must be the path of a file, got 3"):
        da.load(3)


def test_a_damaged_file_leaves_nothing_behind(saved, tmp_path, monkeypatch):
    """What h5netcdf had half opened printed a traceback when it was forgotten."""
    said = list[object]()
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    content = bytearray(Path(saved).read_bytes())
    content[64] ^= 255  # where the root of the file is
    (tmp_path / "bad.nc").write_bytes(_resealed(bytes(content)))
    with pytest.raises(DalembertError, match="not a result"):
        da.load(tmp_path / "bad.nc")
    gc.collect()
    assert not said


# Checkpoints


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoints") / "run.checkpoint"
    leave_checkpoint(da.library.pendulum(), 20.0, path, steps=20)
    return path


def _resume(path):
    return da.simulate(da.library.pendulum(), 20.0, checkpoint=path, checkpoint_interval=1e9)


def test_a_damaged_checkpoint_is_refused(checkpoint, tmp_path):
    for file in with_one_bit_changed(checkpoint, tmp_path / "run.checkpoint", 20, seed=1):
        with pytest.raises(DalembertError, match=r"changed or damaged|not a checkpoint|this version"):
            _resume(file)


WRONG = (None, [[1, 2], "x"], -1e9)
KEYS = ("format", "fingerprint", "method", "written", "parameters", "events", "counts", "active", "choices")
# A fuzzer wrote text where a stretch of outputs with its own parameters begins.
FORMS = [("segments", [["x", {}]]), ("segments", [[0, {}], [-1, {}]]), ("segments", []), ("notes", [["x", {}]]),
         ("events", [{"time": "x", "name": "y"}]), ("events", [{"time": 1.0, "name": 2}])]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), [*((key, value) for key in KEYS for value in WRONG), *FORMS])
def test_a_made_up_checkpoint_is_refused_in_words(checkpoint, tmp_path, key, value):
    data = read_sealed(checkpoint)[0]
    notes = json.loads(data.attrs["dalembert_checkpoint"])
    notes[key] = value
    data.attrs["dalembert_checkpoint"] = json.dumps(notes)
    file = write_sealed(tmp_path / "run.checkpoint", data)
    with pytest.raises(DalembertError, match=r"run\.checkpoint"):
        _resume(file)


def test_a_number_that_is_no_double_is_refused(checkpoint, tmp_path):
    """JSON has whole numbers of any length; a fuzzer wrote one where the worst pivot is kept."""
    data = read_sealed(checkpoint)[0]
    notes = json.loads(data.attrs["dalembert_checkpoint"])
    notes["statistics"]["smallest_pivot"] = 10**400
    data.attrs["dalembert_checkpoint"] = json.dumps(notes)
    file = write_sealed(tmp_path / "run.checkpoint", data)
    with pytest.raises(DalembertError, match=r"does not fit this run .OverflowError.*Fix: delete"):
        _resume(file)


def test_parts_that_were_left_behind_go_with_the_checkpoint(checkpoint, tmp_path):
    file = tmp_path / "run.checkpoint"
    file.write_bytes(checkpoint.read_bytes())
    left = tmp_path / f".run.checkpoint.{'0' * 16}.part"
    left.write_bytes(b"half")
    resumed = _resume(file)
    assert any("resumed" in remark for remark in resumed.certificate.remarks)
    assert list(tmp_path.iterdir()) == []


def test_old_parts_are_removed_and_young_ones_are_not(tmp_path):
    target = tmp_path / "a.nc"
    old, young, other = (tmp_path / f".{name}.{'1' * 15}{k}.part" for k, name in enumerate(("a.nc", "a.nc", "b.nc")))
    for part in (old, young, other):
        part.write_bytes(b"")
    for part in (old, other):
        os.utime(part, (0, 0))
    write_sealed(target, xr.Dataset({"a": 1}))
    assert target.exists() and not old.exists() and young.exists() and other.exists()
    remove_parts(target)
    assert not young.exists() and target.exists()


# A full disk: a limit on the size of files has the same effect on the writer

FULL = """
    import resource, signal, sys, pathlib
    import pytest
    import dalembert as da
    from support.pauses import pause_every
    pause_every(pytest.MonkeyPatch(), 20)
    folder = pathlib.Path(sys.argv[1])
    model = da.library.pendulum()
    run = da.simulate(model, 1.0, output_step=0.1)
    run.save(folder / "run.nc")
    old = (folder / "run.nc").read_bytes()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
    try:
        run.save(folder / "run.nc")
    except da.DalembertError as error:
        print("SAVE", error)
    assert (folder / "run.nc").read_bytes() == old
    try:
        da.simulate(model, 20.0, checkpoint=folder / "run.checkpoint", checkpoint_interval=0.0)
    except da.DalembertError as error:
        print("CHECKPOINT", error)
    assert [file.name for file in folder.iterdir()] == ["run.nc"]
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits on the size of files are those of Unix")
def test_a_full_disk_leaves_old_files_whole_and_ends_in_peace(tmp_path):
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    command = [sys.executable, "-c", textwrap.dedent(FULL), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": paths})
    assert done.returncode == 0, done.stderr
    assert "SAVE cannot write" in done.stdout and "CHECKPOINT cannot write" in done.stdout


def test_a_stranger_may_compute_the_seal_too(saved, tmp_path):
    """A seal is no signature: bytes with a right hash still meet a reader that answers in words."""
    content, rng = saved.read_bytes(), np.random.default_rng(2)
    file = tmp_path / "run.nc"
    start = content.find(b"certificate")
    for at in rng.integers(start, min(start + 2000, len(content)), 40):
        damaged = bytearray(content)
        damaged[at] ^= 1 << rng.integers(8)
        file.write_bytes(_resealed(bytes(damaged)))
        try:
            da.load(file)
        except DalembertError:
            continue
