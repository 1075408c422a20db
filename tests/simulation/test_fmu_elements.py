"""FMUs as elements of a model: the motion of one whole, by the order of the exchange; nothing runs untrusted."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.export import fmu_archive
from dalembert.export.fmu_archive import this_platform
from dalembert.io import dumps, loads
from dalembert.model.model import has_fmus

HERE = this_platform()
compiled = pytest.mark.skipif(
    HERE is None or fmu_archive._command(HERE) is None, reason="no C compiler: set CC, or pip install 'dalembert[fmu]'"
)


def servo() -> da.Model:
    """A controller as a model of its own: a filter, and gains that act at once."""
    model = da.Model("servo", gravity=(0, 0, 0))
    model.parameters(gain=20.0, lag=0.05)
    for name in ("angle", "rate"):
        model.input(name)
    body = model.body("unused", mass=1, inertia=(1, 1, 1))
    model.prismatic("J", model.ground, body, point=(0, 0, 0), axis="x")
    model.state("filtered", rate="(angle - filtered)/lag")
    model.output("effort", "-gain*filtered - 2*rate")
    return model


def arm(whole: bool = False) -> da.Model:
    """A pendulum held up by the controller, which is part of it or comes from outside."""
    model = da.Model("arm")
    model.parameters(gain=15.0, lag=0.05)
    body = model.body("arm", mass=1, com=(0.5, 0, 0), inertia=(0.01, 0.08, 0.08))
    model.revolute("A", model.ground, body, point=(0, 0, 0), axis="y")
    model.initial("A", 0.3)
    if whole:
        model.state("filtered", rate="(q(A) - filtered)/lag")
        model.joint_force("motor", "A", "-gain*filtered - 2*u(A)")
    else:
        model.input("torque", unit="N m")
        model.joint_force("motor", "A", "torque")
    return model


def with_servo(path: str = "servo.fmu", **more) -> da.Model:
    model, given = arm(), {"step": 0.02, "outputs": {"torque": "effort"}, "start": {"gain": 15.0}, **more}
    model.fmu("servo", path, inputs={"angle": "q(A)", "rate": "u(A)"}, **given)
    return model


@compiled
@pytest.mark.slow
@pytest.mark.parametrize("version", [2, 3])
def test_it_is_the_motion_of_one_whole(version, tmp_path):
    """Errors fall with the square of the exchange step, or with its first power where outputs are held."""
    pytest.importorskip("fmpy", reason="FMPy runs FMUs: pip install 'dalembert[fmu]'")
    path = da.export_fmu(servo(), tmp_path / "servo.fmu", 2.0, version=version, integrator="rk4", step=1e-3)
    whole = da.simulate(arm(True), 1.0, output_step=0.1).joint("A").q.values
    for hold, order in ((False, 2), (True, 1)):
        errors = []
        for step in (0.01, 0.005, 0.0025):
            model = with_servo(str(path), step=step, hold=hold)
            run = da.simulate(model, 1.0, output_step=0.1, trust_fmus=True, certify=False)
            errors.append(np.abs(run.joint("A").q.values - whole).max())
        observed = np.log2(errors[:-1]) - np.log2(errors[1:])
        assert np.all(np.abs(observed - order) < 0.15), (hold, errors)
    # The certificate knows the error of the exchange, and holds it to the accuracy that is asked for.
    model = with_servo(str(path), step=0.005)
    run = da.simulate(model, 1.0, output_step=0.1, trust_fmus=True)
    off = np.abs(run.joint("A").q.values - whole).max() / np.abs(whole).max()
    assert off < run.certificate["error"] < 10 * off and run.certificate.trusted == (run.certificate["error"] < 1e-3)
    assert "exchanges values every 0.0025 s" in str(run.certificate)
    assert not da.simulate(model, 1.0, output_step=0.1, trust_fmus=True, accuracy=1e-6).certificate.trusted
    # What went to the FMU, and what came back, is recorded.
    assert np.allclose(run.output("servo input 1").values, run.joint("A").q.values)
    assert np.ptp(run.output("servo gives torque").values) > 1
    with pytest.raises(da.DalembertError, match="cannot run in a page"):
        run.live(tmp_path / "x.html")
    for change, words in (
        ({"inputs": {"angel": "q(A)"}}, "no variable 'angel'; its input variables are angle, rate"),
        ({"outputs": {"torque": "nothing"}}, "no variable 'nothing'"),
        ({"inputs": {"effort": "q(A)"}}, "'effort' is not an input, but output"),
    ):
        wrong = arm()
        wrong.fmu("servo", str(path), **{"step": 0.1, "inputs": {}, "outputs": {"torque": "effort"}, **change})
        with pytest.raises(da.DalembertError, match=words):
            da.simulate(wrong, 1.0, trust_fmus=True)


def test_nothing_runs_untrusted(tmp_path, monkeypatch):
    """Files, models and analyses never load the machine code of an FMU; only a run that is told so."""
    bad = tmp_path / "servo.fmu"
    bad.write_bytes(b"not an archive")
    model = with_servo(str(bad))
    monkeypatch.setattr("dalembert.analyses.simulation.simulate_with_fmus.RunningFMU", pytest.fail)
    text = dumps(model)
    again = loads(text)
    assert again == model and has_fmus(again)
    with pytest.raises(da.DalembertError, match=r"machine code that would run on this computer.*servo\.fmu"):
        da.simulate(again, 1.0, trust_fmus=False)
    for trust in (None, "yes", 1):
        with pytest.raises(da.DalembertError, match="trust_fmus must be True or False"):
            da.simulate(again, 1.0, trust_fmus=trust)
    for analysis in (
        da.compile, da.linearize, da.equilibrium, da.assemble, da.derive,
        lambda m: da.export_c(m, tmp_path), lambda m: da.export_fmu(m, tmp_path / "x.fmu", platforms=[]),
    ):  # fmt: skip
        with pytest.raises(da.DalembertError, match=r"its FMUs \('servo'\) run in da.simulate only"):
            analysis(again)
    again.remove("servo")
    assert da.simulate(again, 0.1, certify=False).values("time")[-1] == 0.1


def test_files_that_are_no_fmus_are_named(tmp_path):
    pytest.importorskip("fmpy", reason="FMPy runs FMUs: pip install 'dalembert[fmu]'")
    with pytest.raises(da.DalembertError, match="there is no file"):
        da.simulate(with_servo(str(tmp_path / "none.fmu")), 1.0, trust_fmus=True)
    bad = tmp_path / "servo.fmu"
    bad.write_bytes(b"not an archive")
    with pytest.raises(da.DalembertError, match="cannot be loaded"):
        da.simulate(with_servo(str(bad)), 1.0, trust_fmus=True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"path": "servo.so"}, "expected the path of an FMU"),
        ({"step": 0.0}, "step"),
        ({"step": float("nan")}, "step"),
        ({"outputs": {"tork": "effort"}}, "the model has no input 'tork'"),
        ({"outputs": {"torque": "a\nb"}}, "expected names of variables"),
    ],
)
def test_what_is_wrong_is_said(change, words):
    with pytest.raises(da.DalembertError, match=words):
        with_servo(**change).validate()


def test_an_fmu_within_a_sub_model():
    """Its names are those of the sub-model."""
    outer = da.Model("outer")
    outer.add(with_servo(), "left")
    assert has_fmus(outer)
    with pytest.raises(da.DalembertError, match=r"'left\.servo' \(servo\.fmu\)"):
        da.simulate(outer, 1.0)
