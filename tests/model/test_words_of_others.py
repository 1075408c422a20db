"""What people call things who come from other programs."""

from __future__ import annotations

import re
from typing import Any

import pytest

import dalembert as da


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("motor", "model.drive"), ("add_actuator", "da.parts.dc_motor"), ("damper", "model.spring("),
        ("hinge", "did you mean revolute?"), ("draw", ".animate(path)"), ("add_body", "did you mean body"),
        ("translational_spring", "did you mean spring?"),
    ],
)  # fmt: skip
def test_a_model_knows_what_others_call_its_methods(word: str, ours: str):
    with pytest.raises(AttributeError, match=re.escape(ours)) as error:
        getattr(da.Model("m"), word)
    assert len(str(error.value)) < 250  # the nearest, not all


@pytest.mark.parametrize(
    ("word", "ours"), [("run", "simulate"), ("plot", "simulate"), ("Mechanism", "Model"), ("from_xml", "read")]
)
def test_so_does_the_package(word: str, ours: str):
    with pytest.raises(AttributeError, match=f"did you mean .*{ours}"):
        getattr(da, word)


def test_points_and_axes_are_given_by_name():
    model: Any = da.Model("m")
    with pytest.raises(
        TypeError, match=re.escape("revolute() takes a name and two bodies in their order; give point=…, axis=…")
    ):
        model.revolute("A", "ground", "b", (0, 0, 0), "z")


@pytest.mark.parametrize(
    ("formula", "fix"),
    [
        ("if(t<1, 0, t)", "a if t < 1 else b"),
        ("STEP(t, 0, 0, 1, 1)", "tanh"),
        ("pow(t, 2)", None),
        ("ln(3, 4, 5)", "log"),
    ],
)
def test_functions_of_others_get_ours(formula: str, fix: str | None):
    model = da.library.pendulum()
    if fix is None:  # a table may have any name
        model.drive(model.joints[0], formula)
        with pytest.raises(da.ModelError, match="unknown function 'pow'"):
            da.compile(model)
        return
    with pytest.raises(da.ModelError, match=re.escape(fix)):
        model.drive(model.joints[0], formula)


def test_time_is_t():
    model = da.library.pendulum()
    model.drive(model.joints[0], "2*time")
    with pytest.raises(da.ModelError, match="Fix: time is t"):
        da.compile(model)


def test_names_of_bundled_models_and_programs_are_no_models(tmp_path):
    with pytest.raises(da.DalembertError, match=r"da\.library\.four_bar\(\)"):
        da.simulate("four-bar", 1.0)  # type: ignore[arg-type]
    (tmp_path / "lift.py").write_text("import dalembert", encoding="utf-8")
    with pytest.raises(da.ModelError, match=r"python lift\.py runs it"):
        da.read(tmp_path / "lift.py")


def test_equations_and_batches_know_words_of_others():
    equations = da.compile(da.library.pendulum())
    for word, ours in {
        "crba": "mass_matrix(q)",
        "forward_dynamics": "acceleration(q, u)",
        "mas_matrix": "mass_matrix",
    }.items():
        with pytest.raises(AttributeError, match=re.escape(f"did you mean {ours}")):
            getattr(equations, word)
    assert not hasattr(equations, "__nothing__")
    batch = da.simulate_many(equations, 0.1, initial={"pivot": [0.1, 0.2]}, integrator="rk4", step=0.01)
    with pytest.raises(AttributeError, match=re.escape("did you mean trajectory(sample)?")):
        batch.plot("x.png")  # type: ignore[attr-defined]
