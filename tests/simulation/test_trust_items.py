"""What broke when the package was attacked, and the tests that keep it from breaking again.

| item | what happened | tests |
|---|---|---|
| A1 | a field, sheet or pulse narrower than a step was jumped over | `test_guard`, `test_branches` |
| A2 | an event that crosses zero twice within a step was missed | `test_branches` |
| A3 | chaotic motion was trusted | `test_accuracy` |
| A4 | values given at run time were not validated | `test_misuse` |
| A5 | a model changed after `compile` was half used | `test_misuse` |
| A6 | `out=` of integers truncated, imaginary parts were dropped | `test_misuse` |
| A7 | limits that ignore rtol; false conditioning; lost options | `test_accuracy`, `test_worn_choices`, `test_recipe` |
| B8 | Ctrl-C in a run ended in an IndexError | `test_interrupt` |
| B9 | a full disk ended in a segmentation fault | `test_result_files`, `test_cache` |
| B10 | `inspect` was steeper than linear | `test_misuse`, here |
| B11 | chatter used all steps; a loop model held a run for minutes | `test_guard`, `test_branches` |
| B12 | `start=nan` ran for 23 s; a massless body that can move was not noticed | `test_misuse`, here |
| B13 | changed numbers in files loaded as trusted; parts were left behind | `test_result_files` |
| C14 | tracebacks for damaged files, misuse, endless lists | `test_result_files`, `test_misuse`, `test_cache`, here |

``ITEMS`` names them one by one; a name that goes stale fails.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.errors import InputError

TESTS = Path(__file__).parents[1]

ITEMS = {
    "A1 field": ["simulation/test_guard.py::test_a_narrow_field_turns_a_charge_round"],
    "A1 sheet": ["simulation/test_branches.py::test_a_thin_sheet_throws_back"],
    "A1 pulse": [
        "simulation/test_guard.py::test_a_short_force_is_felt",
        "simulation/test_branches.py::test_a_short_pulse_is_felt_to_the_digit",
    ],
    "A2": ["simulation/test_branches.py::test_events_that_cross_twice_within_a_step_are_found"],
    "A3": ["simulation/test_accuracy.py::test_chaotic_motion_has_a_horizon"],
    "A4": ["simulation/test_misuse.py::test_wrong_options_of_a_run"],
    "A5": ["simulation/test_misuse.py::test_compiled_equations_are_immune_to_later_changes_of_the_model"],
    "A6": ["simulation/test_misuse.py::test_arrays_that_do_not_fit_are_refused"],
    "A7 limits": ["simulation/test_accuracy.py::test_a_loose_run_that_is_as_accurate_as_asked_is_trusted"],
    "A7 conditioning": [
        "simulation/test_worn_choices.py::test_redundant_rows_that_stages_see_as_independent_are_no_singular_position"
    ],
    "A7 load": [
        "simulation/test_recipe.py::test_files_keep_the_options_of_a_formulation",
        "simulation/test_recipe.py::test_files_keep_the_options_of_coordinates",
    ],
    "B8": [
        "simulation/test_interrupt.py::test_a_signal_while_the_loop_runs",
        "simulation/test_interrupt.py::test_an_interrupt_before_the_thread_begins",
    ],
    "B9": [
        "simulation/test_result_files.py::test_a_full_disk_leaves_old_files_whole_and_ends_in_peace",
        "native/test_cache.py::test_a_full_disk",
    ],
    "B10": [
        "simulation/test_misuse.py::test_inspecting_a_tree_compiles_nothing",
        "simulation/test_trust_items.py::test_inspecting_a_long_chain_takes_time_in_proportion",
    ],
    "B11": [
        "simulation/test_guard.py::test_a_run_without_headway_ends_soon_and_names_the_force",
        "simulation/test_branches.py::test_switching_back_and_forth_is_noticed_at_once",
    ],
    "B12": [
        "simulation/test_misuse.py::test_wrong_options_of_a_run",
        "simulation/test_trust_items.py::test_a_massless_body_that_can_move_is_noticed_in_any_units",
    ],
    "B13": [
        "simulation/test_result_files.py::test_every_changed_byte_is_noticed",
        "simulation/test_result_files.py::test_parts_that_were_left_behind_go_with_the_checkpoint",
        "simulation/test_result_files.py::test_old_parts_are_removed_and_young_ones_are_not",
    ],
    "C14 files": [
        "simulation/test_result_files.py::test_a_file_cut_short_is_refused",
        "simulation/test_result_files.py::test_made_up_arrays_are_refused_in_words",
        "simulation/test_result_files.py::test_a_damaged_checkpoint_is_refused",
        "simulation/test_result_files.py::test_a_made_up_checkpoint_is_refused_in_words",
    ],
    "C14 misuse": [
        "simulation/test_misuse.py::test_wrong_options_of_a_run",
        "simulation/test_misuse.py::test_wrong_kinds_of_arguments",
        "simulation/test_trust_items.py::test_one_mistake_has_one_class_of_error",
    ],
    "C14 lists": ["simulation/test_trust_items.py::test_a_list_of_problems_is_short"],
    "C14 cache": [
        "native/test_cache.py::test_damaged_files_are_built_again",
        "codegen/test_kernel_cache.py::test_damaged_file_is_rebuilt",
    ],
}


@pytest.mark.parametrize("item", ITEMS)
def test_every_item_has_its_tests(item):
    for name in ITEMS[item]:
        file, test = name.split("::")
        assert re.search(rf"^def {test}\(", (TESTS / file).read_text(encoding="utf-8"), re.MULTILINE), name


def chain(links: int) -> da.Model:
    model, before = da.Model("chain"), "ground"
    for i in range(links):
        body = model.body(f"b{i}", mass=1, com=(i + 0.5, 0, 0), inertia=(1, 1, 1))
        model.revolute(f"j{i}", before, body, point=(i, 0, 0), axis="y")
        before = body
    return model


def test_inspecting_a_long_chain_takes_time_in_proportion():
    """Four times the links must not take ten times the time; steeper than linear it was sixteen and more."""
    spent: dict[int, float] = {}
    for links in (50, 200):
        took: list[float] = []
        for _ in range(2):
            model = chain(links)
            began = time.process_time()
            da.inspect(model)
            took.append(time.process_time() - began)
        spent[links] = min(took)
    assert spent[200] < 10 * spent[50], spent


@pytest.mark.parametrize(("length", "mass"), [(1.0, 1.0), (3e-3, 2e3), (1e3, 1e-3)])
def test_a_massless_body_that_can_move_is_noticed_in_any_units(length, mass):
    """Lengths of 3 mm and masses of 2 t once hid it: u̇ was 5e31."""
    model = da.Model("massless")
    model.body("arm", mass=mass, com=(0, 0, 0), inertia=(mass * length**2,) * 3)
    model.body("tip", mass=0, com=(length, 0, 0), inertia=(0, 0, 0))
    model.revolute("A", "ground", "arm", point=(0, 0, 0), axis="z")
    model.revolute("B", "arm", "tip", point=(length, 0, 0), axis="z")
    model.joint_force("push", "B", mass * length**2)
    run = da.simulate(model, 0.01)
    assert not run.certificate.finished and "neither mass nor constraint" in run.certificate.message


def test_a_list_of_problems_is_short(tmp_path):
    """A file that repeats its mistakes three hundred times; 24 000 characters were written once."""
    path = tmp_path / "model.yaml"
    path.write_text("bodies:\n" + "- {name: a, mass: x, wrong: 1}\n" * 300, encoding="utf-8")
    with pytest.raises(da.ModelError, match=r"more$") as error:
        da.read(path)
    assert len(str(error.value)) < 4000


@pytest.mark.parametrize("formulation", ["recursive", "lagrange-multipliers"])
def test_one_mistake_has_one_class_of_error(formulation):
    dynamics = da.compile(da.library.double_pendulum(), formulation=formulation)
    for wrong in ([1.0], [1.0] * 9, None, "a", np.zeros(2) + 1j):
        with pytest.raises(InputError):
            dynamics.acceleration(wrong, np.zeros(2))


def test_an_event_that_is_no_number_is_not_trusted():
    """What is not a number passes through nothing: the event would be missed without a word."""
    model = da.library.pendulum()
    model.event("beyond", "sqrt(q(pivot) + 0.2)", direction="falling", stop=True)
    run = da.simulate(model, 1.0, initial={"pivot": 0.5})
    check = next(one for one in run.certificate.checks if one.name == "undefined events")
    assert not run.certificate.trusted and "'beyond'" in check.about and check.value > 10
    model = da.library.pendulum()
    model.event("beyond", "q(pivot) + 0.2", direction="falling", stop=True)
    run = da.simulate(model, 1.0, initial={"pivot": 0.5})
    assert run.certificate.trusted and run.events[-1].name == "beyond"


BETWEEN = "sqrt((q(P) - 0.5)**2 - 0.01) - 5"  # no number for 0.4 < q < 0.6


def test_an_event_that_is_no_number_between_two_outputs_is_not_trusted():
    """It is looked at in every step, not only at outputs; also after an event began the run anew."""
    model = da.Model("slider", gravity=(0, 0, 0))
    body = model.body("b", mass=1, com=(0, 0, 0), inertia=(1, 1, 1))
    model.prismatic("P", "ground", body, point=(0, 0, 0), axis="x")
    model.initial("P", 0.0, rate=1.0)
    model.parameters(k=1.0)
    model.event("half", "q(P) - 0.9", set={"k": "2"})
    model.event("beyond", BETWEEN, stop=True)
    run = da.simulate(model, 1.0, output_step=1.0)
    check = next(one for one in run.certificate.checks if one.name == "undefined events")
    assert not run.certificate.trusted and "'beyond'" in check.about and "first at t = 0.4" in check.about
    # What lies behind an event that ends the run is not on the way.
    model.event("before", "q(P) - 0.3", stop=True)
    run = da.simulate(model, 1.0, output_step=1.0)
    assert run.certificate.trusted and run.events[-1].name == "before"


def test_an_event_of_a_subsystem_that_is_no_number_is_not_trusted():
    part = da.Subsystem("S")
    x = part.coordinates("x")
    part.effective_forces({x: -x.dd})
    part.event("beyond", sp.sqrt((x - 0.5) ** 2 - 0.01) - 5, stop=True)
    run = da.simulate(part, 1.0, output_step=1.0, initial={"x": 0.0, "x.d": 1.0})
    assert not run.certificate.trusted and "'beyond'" in str(run.certificate)
