"""Random exports, planar mechanisms and systems of subsystems: what is drawn, what is found, and how it gets small."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.fuzz import check_exports, check_systems
from dalembert.fuzz.case import draw_case, smaller_cases, try_case
from dalembert.fuzz.check_exports import check_export, random_export
from dalembert.fuzz.check_planar import check_planar
from dalembert.fuzz.check_systems import check_system
from dalembert.fuzz.random_planar import random_planar
from dalembert.fuzz.random_scenes import random_scene
from dalembert.fuzz.random_systems import KINDS, mechanics_of, random_system


def test_random_planar_mechanisms_hold_everything_there_is():
    seen: set[str] = set()
    for seed in range(60):
        planar = random_planar(seed)
        seen |= {type(one).__name__ for section in (planar.joints, planar.contacts, planar.springs, planar.forces)
                 for one in section}  # fmt: skip
    wanted = {"RevoluteJoint", "PrismaticJoint", "PinInSlot", "ContactOnLine", "ContactOnDisc", "NodeSpring"}
    assert seen == wanted | {"NodeForce"}


def test_random_systems_hold_everything_there_is():
    systems = [random_system(seed) for seed in range(40)]
    assert {leaf["kind"] for system in systems for leaf in system["leaves"]} == set(KINDS)
    assert {leaf["group"] for system in systems for leaf in system["leaves"]} == {"", "A", "B", "A.C", "A.C.D"}
    assert {row["kind"] for system in systems for row in system["rows"]} == {"position", "velocity", "square"}


def test_a_planar_mechanism_by_nodes_is_its_model():
    judged = check_planar(random_planar(1), 1)
    assert judged.comparisons == 2 and not judged.findings and judged.worst < 1e-11


def test_a_system_of_subsystems_is_what_it_says():
    """Seed 10 has a force at the top on a part that no invariant binds."""
    for seed in (4, 10):
        judged = check_system(random_system(seed))
        assert judged.comparisons == 3 and not judged.findings and judged.worst < 1e-11


def test_a_wrong_system_is_found(monkeypatch):
    def heavier(system):
        found = mechanics_of(system)
        found.kinetic *= 1 + 1e-6
        return found

    monkeypatch.setattr(check_systems, "mechanics_of", heavier)
    assert {finding.check for finding in check_system(random_system(4)).findings} == {"nested", "flat"}


def test_an_export_is_the_run():
    model, rates = random_scene(15)
    options = {"integrator": "tsit5", "rtol": 1e-7, "duration": 1.0, "outputs": 50, "initial_rates": rates}
    judged = check_export(model, options)
    assert judged.comparisons >= 3 and not judged.findings and not judged.skipped


@pytest.mark.parametrize("kind", ["planar", "systems"])
def test_cases_get_smaller_and_stay_cases(kind):
    case = draw_case(kind, 4)
    smaller = list(smaller_cases(case))
    assert len(smaller) >= 3 and all(one["kind"] == kind for one in smaller)
    assert not try_case(smaller[-1]).findings


def test_exports_are_drawn_with_all_that_needs_no_python():
    drawn = [random_export(np.random.default_rng(seed), 1.0) for seed in range(200)]
    assert {one["integrator"] for one in drawn} == set(check_exports.LIVE_METHODS)
    assert all(("rtol" in one) != ("step" in one) for one in drawn)
