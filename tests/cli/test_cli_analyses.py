"""Commands ``equilibrium``, ``sweep``, ``live`` and ``export``."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

sys.path.insert(0, str(Path(__file__).parent))
from test_cli import call


@pytest.fixture
def dalembert(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    return lambda *arguments: call(*arguments, monkeypatch=monkeypatch, capsys=capsys)


def test_equilibrium_shows_where_a_model_rests(dalembert: Any, tmp_path: Path):
    files = str(tmp_path / "rest.png"), str(tmp_path / "rest.csv")
    code, text = dalembert("equilibrium", "pendulum", "--starts", "6", "--plot", files[0], "--csv", files[1])
    assert code == 0 and "2 equilibria from 6 starts" in text and "unstable" in text
    lines = Path(files[1]).read_text().splitlines()
    assert lines[0] == "kind,pivot,pivot.d" and lines[1].startswith("stable,") and Path(files[0]).is_file()
    steady = ["--steady", "contact[2]", "--steady", "contact[4]=6", "--hold", "contact[3]"]
    code, text = dalembert("equilibrium", "rolling-disc", "--set", "lean=0.3", *steady)
    assert code == 0 and "-1.18119" in text
    code, text = dalembert("equilibrium", "desk-lamp", "--initial", "shoulder=0.2", "--hold", "shoulder", "--unknown",
                           "stiffness_1", "--hold", "elbow high", "--unknown", "stiffness_2")  # fmt: skip
    assert code == 0 and "found: stiffness_1 = 1004.74611" in text and "lower spring" in text
    assert dalembert("equilibrium", "pendulum", "--steady", "pivot=x")[0] == 2


def test_sweep_writes_numbers_and_pictures(dalembert: Any, tmp_path: Path):
    files = [str(tmp_path / name) for name in ("a.nc", "a.csv", "a.png")]
    writes = [part for file in files for part in ("--write", file)]
    grid = ["--over", "crank=0.35:0.4:2", "--over", "coupler=0.9,1"]
    short = ["--duration", "0.2", "--output-step", "0.05", "--output", "max: A.d", "--output", "D"]
    code, text = dalembert("sweep", "four-bar", *grid, *short, *writes)
    assert code == 0 and "4 samples, 0 failed" in text
    data = xr.load_dataset(files[0])
    assert data["max: A.d"].shape == (2, 2) and data.D.dims == ("crank", "coupler", "time")
    assert len(Path(files[1]).read_text().splitlines()) == 5 and Path(files[2]).stat().st_size > 10_000
    random = ["--over", "crank=normal:0.4:0.01", "--over", "A.d=7:9", "--how", "latin", "--samples", "5"]
    code, text = dalembert("sweep", "four-bar", *random, *short, "--store", str(tmp_path / "kept"))
    assert code == 0 and "5 samples" in text and (tmp_path / "kept" / "sweep.json").is_file()
    code, text = dalembert("sweep", "four-bar", "--over", "coupler=1,5", *short)
    assert code == 1 and "2 samples, 1 failed" in text and "has no finite value" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "what is varied"),
        (["--over", "crank"], "expected name=first:last:count"),
        (["--over", "crank=1:2"], "expected name=first:last:count"),
        (["--over", "crank=a:b", "--how", "latin", "--samples", "3"], "expected name=low:high"),
        (["--over", "crank=1:2", "--how", "latin"], "how many samples"),
        (["--over", "crank=1:2", "--how", "dice"], "expected one of grid"),
        (["--over", "crank=0.4", "--write", "x.txt"], "ends in .nc, .png, .csv"),
    ],
)
def test_wrong_sweeps_are_explained(dalembert: Any, arguments: list[str], message: str):
    code, text = dalembert("sweep", "four-bar", *arguments)
    assert code == 2 and message in text


@pytest.mark.slow
def test_a_page_may_be_written_into_a_folder(dalembert: Any, tmp_path: Path):
    """``run --out`` takes a folder; ``live`` said that a folder is no plain file."""
    code, text = dalembert("live", "pendulum", "--duration", "0.5", "--out", str(tmp_path))
    assert code == 0, text
    assert [path.name for path in tmp_path.iterdir()] == ["pendulum-live.html"]


@pytest.mark.slow
def test_a_page_that_is_not_trusted_says_why(dalembert: Any, tmp_path: Path):
    code, text = dalembert("live", "double-pendulum", "--out", str(tmp_path))
    assert code == 1 and "good until t = " in text and "error" in text and "Fix: rtol=" in text


@pytest.mark.slow
def test_live_writes_a_page(dalembert: Any, tmp_path: Path):
    page = tmp_path / "swing.html"
    code, text = dalembert(
        "live", "crank-rocker", "--duration", "0.5", "--slider", "crank=0.2:0.4", "--slider", "speed",
        "--menu", "radau", "--motion", "motor", "--out", str(page),
    )  # fmt: skip
    assert code == 0 and "trusted" in text and f"wrote {page}" in text
    data = json.loads(
        re.findall(r'id="scene-data"[^>]*>(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)[0]
    )
    sliders = {one["key"]: (one["low"], one["high"]) for one in data["live"]["sliders"] if one["key"].startswith("p:")}
    assert sliders.keys() == {"p:crank", "p:speed"} and sliders["p:crank"] == (0.2, 0.4)
    for wrong, words in (("crank=0.2", "expected name or name=low:high"), ("crane", "unknown ['crane']")):
        code, text = dalembert(
            "live", "crank-rocker", "--duration", "0.1", "--slider", wrong, "--out", str(tmp_path / "x")
        )
        assert code == 2 and words in text.replace("\n", " ")
    assert [path.name for path in tmp_path.iterdir()] == ["swing.html"]


@pytest.mark.slow
def test_export_writes_c_and_fmus(dalembert: Any, tmp_path: Path):
    fixed = ["--integrator", "rk4", "--step", "0.01", "--duration", "0.1"]
    code, text = dalembert("export", "pendulum", *fixed, "--out", str(tmp_path / "c"), "--name", "swing",
                           "--processor", "cortex-m4")  # fmt: skip
    assert code == 0
    written = {path.name for path in (tmp_path / "c").iterdir()}
    assert {"swing.h", "swing.c", "main.c", "swing.cortex-m4.o", "swing.cortex-m4.txt"} <= written
    assert all(name in text for name in written)
    code, text = dalembert("export", "pendulum", *fixed, "--out", str(tmp_path / "p.fmu"), "--fmi", "2",
                           "--input", "length")  # fmt: skip
    assert code == 0
    with zipfile.ZipFile(tmp_path / "p.fmu") as archive:
        assert b'fmiVersion="2.0"' in archive.read("modelDescription.xml")
    code, text = dalembert("export", "bouncing-ball", "--out", str(tmp_path / "b.fmu"))
    assert code == 2 and "rigid-contact" in text and not (tmp_path / "b.fmu").exists()
