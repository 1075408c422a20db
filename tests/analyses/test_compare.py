"""The table of all formulations: complete, the same every time, and no run spoils another."""

from __future__ import annotations

import csv
from dataclasses import dataclass, fields
from functools import cache
from typing import ClassVar

import numpy as np
import pytest

import dalembert as da
from dalembert.analyses.comparison.compare import Entry, label
from dalembert.coordinates import COORDINATES, Coordinates
from dalembert.dynamics import Dynamics
from dalembert.formulations import FORMULATIONS
from dalembert.formulations.augmented_lagrangian import AugmentedLagrangian
from dalembert.formulations.independent import Independent
from dalembert.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.formulations.penalty import Penalty

TIMES = ("seconds", "compile_seconds")
SOME = ["lagrange-multipliers", "jourdain", Penalty(alpha=1e4)]


@cache
def four_bar() -> da.Comparison:
    return da.compare(da.library.four_bar(), 0.5, formulations=SOME)


def numbers(comparison: da.Comparison) -> list[dict]:
    return [{f.name: getattr(e, f.name) for f in fields(e) if f.name not in TIMES} for e in comparison]


@pytest.mark.slow
def test_every_supported_pair_appears():
    """On a mechanism that compiles quickly; formulations that refuse it would still be in the list."""
    found = da.compare(da.library.rolling_disc(), 0.2)
    pairs = {(name, c) for name, f in FORMULATIONS.items() for c in COORDINATES if c in f.supports().coordinates}
    assert {(entry.formulation, entry.coordinates) for entry in found} == pairs
    assert len(found) == len(pairs)
    for entry in found:
        exact = FORMULATIONS[entry.formulation].supports().exact
        assert entry.reason and (entry.status == "trusted" or not exact), entry
        assert entry.pose_difference < (1e-9 if exact else 1e-4), entry


def test_sizes_are_those_of_the_equations():
    """Three hinges and a loop of five rows, of which two are independent: one freedom."""
    found = four_bar()
    multipliers = found["lagrange-multipliers", "relative"]
    assert (multipliers.unknowns, multipliers.states, multipliers.constraints) == (3 + 5, 3 + 3, 5)
    absolute = found["lagrange-multipliers", "absolute"]
    assert (absolute.unknowns, absolute.states, absolute.constraints) == (18 + 20, 21 + 18, 20)
    assert found["jourdain", "relative"].unknowns == found["jourdain", "absolute"].unknowns == 1
    assert found["penalty(alpha=10000)", "relative"].unknowns == 3
    if "natural" in COORDINATES:
        # Two points move, in the plane: the joints of the plane make the third coordinates needless.
        assert (
            found["lagrange-multipliers", "natural"].constraints < found["lagrange-multipliers", "absolute"].constraints
        )


def test_states_are_those_that_vary():
    """Of a four-bar linkage with one freedom: three angles; momenta, integrals and choices count, zeros do not."""
    partitioned = [Independent(state=state) for state in ("mixed", "independent")]
    methods = ["canonical-independent", "canonical-augmented", *partitioned]
    found = da.compare(da.library.four_bar(), 0.05, formulations=methods, coordinates="relative")
    assert [entry.states for entry in found] == [3 + 1, 3 + 3 + 5, 3 + 1, 1 + 1]
    assert found.data[2].formulation == "independent(state=mixed)"
    # Rolling: five coordinates of position are free, three velocities.
    found = da.compare(da.library.rolling_disc(), 0.05, formulations=partitioned, coordinates="relative")
    assert [entry.states for entry in found] == [5 + 3, 5 + 3]


def test_runs_are_measured():
    found = four_bar()
    for entry in found:
        if entry.formulation in ("lagrange-multipliers", "jourdain"):
            assert entry.status == "trusted", entry.reason
            assert entry.pose_difference < 1e-8 and entry.twist_difference < 1e-7
            assert max(entry.position, entry.velocity, entry.acceleration) < 1e-12
            assert entry.energy < 1e-8 and entry.condition < 1e4
            assert 0 < entry.seconds < entry.compile_seconds + 10 and entry.evaluations > entry.steps > 0
    # A soft penalty is seen in every column that should show it, and α in the condition.
    exact, soft = found["lagrange-multipliers", "relative"], found["penalty(alpha=10000)", "relative"]
    assert soft.pose_difference > 100 * exact.pose_difference and soft.acceleration > 1e6 * exact.acceleration
    assert 1e4 < soft.condition < 1e8


def test_what_is_refused_is_reported():
    """Coordinates that a formulation does not take, and a tree that cannot be eliminated: its tip has no mass."""
    found = da.compare(da.library.pendulum(), 0.1, formulations="newton-euler", coordinates="relative")
    (refused,) = found
    assert refused.status == "refused" and "cannot take relative coordinates" in refused.reason
    assert refused.seconds is None and refused.unknowns is None
    text = str(found)
    assert "newton-euler, relative: refused" in text and "rtol 1e-13" in text
    model = da.library.pendulum()
    model.body("pointer")
    model.revolute("loose", "bob", "pointer", point=(0, 0, 0), axis="z")
    model.drive("loose", "t")
    found = da.compare(model, 0.1, formulations=["recursive", "lagrange-multipliers"], coordinates="relative")
    assert [entry.status for entry in found] == ["refused", "trusted"]
    assert "mass and inertia" in found.data[0].reason


def test_the_same_again_but_for_the_time():
    again = da.compare(da.library.four_bar(), 0.5, formulations=SOME)
    assert numbers(again) == numbers(four_bar())


def test_one_that_breaks_does_not_stop_the_others():
    @dataclass(frozen=True)
    class Broken(LagrangeMultipliers):
        name: ClassVar[str] = "broken"

        def blocks(self, equations):
            raise ZeroDivisionError("on purpose")

    found = da.compare(da.library.pendulum(), 0.1, formulations=[Broken(), "recursive"], coordinates="relative")
    assert [entry.status for entry in found] == ["error", "trusted"]
    assert found.data[0].reason == "ZeroDivisionError: on purpose"


def test_events_and_parameters_reach_all_runs():
    model = da.library.pendulum()
    model.event("bottom", "q(pivot)", stop=True)
    found = da.compare(model, 5.0, formulations=["recursive", "lagrange-multipliers"], parameters={"length": 2.0})
    plain = da.compare(model, 5.0, formulations="recursive")
    for entry in found:
        assert entry.status == "trusted" and "ended by event 'bottom'" in entry.reason
        assert entry.reason != plain.data[0].reason
        assert entry.pose_difference < 1e-8


def test_a_given_reference_is_used_at_the_outputs_of_the_runs():
    model = da.library.pendulum()
    mine = da.simulate(model, 1.0, coordinates="absolute", rtol=1e-12, output_step=0.01)
    found = da.compare(model, 0.5, formulations="recursive", reference=mine, output_step=0.013)
    assert "absolute coordinates" in found.reference
    assert found.data[0].pose_difference < 1e-7
    with pytest.raises(da.DalembertError, match="must cover the whole run"):
        da.compare(model, 2.0, formulations="recursive", reference=mine)


def test_difference_is_the_distance_of_bodies():
    """Against a pendulum that starts 1 mrad further: the angle between the orientations, at the first output."""
    model = da.library.pendulum()
    joint = next(iter(Dynamics(model).flat.joints))
    start = float(da.assemble(model).joint(joint)[0][0])
    other = da.simulate(model, 1e-3, initial={joint: start + 1e-3}, output_step=1e-3)
    found = da.compare(model, 1e-3, formulations="recursive", reference=other, output_step=1e-3)
    assert found.data[0].pose_difference == pytest.approx(1e-3, rel=1e-2)


def test_names_show_options():
    assert label(Penalty()) == "penalty"
    assert label(Penalty(alpha=1e6, mu=0.5)) == "penalty(alpha=1e+06, mu=0.5)"
    assert label(AugmentedLagrangian(iterations=3)) == "augmented-lagrangian(iterations=3)"


def test_files_hold_what_the_table_says(tmp_path):
    path = four_bar().to_csv(tmp_path / "table.csv")
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [field.name for field in fields(Entry)]
    assert len(rows) == len(four_bar())
    for row, entry in zip(rows, four_bar(), strict=True):
        assert row["formulation"] == entry.formulation
        assert float(row["energy"]) == entry.energy
        assert da.Recipe.from_json(row["recipe"]) == entry.recipe
    four_bar().plot(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 20_000
    with pytest.raises(da.DalembertError, match="cannot write"):
        four_bar().to_csv(tmp_path / "nowhere" / "table.csv")


def test_the_table_of_a_paper(tmp_path):
    text = four_bar().to_latex(tmp_path / "table.tex").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len({row.count("&") for row in rows}) == 1  # a heading and rows of as many columns
    assert len(rows) == 1 + sum(entry.ran for entry in four_bar())
    assert r"\begin{tabular}{ll" in text and r"$|\ddot\varphi|$" in rows[0] and r" \cdot 10^{-" in rows[1]
    assert "φ" not in text and "Δ" not in text


def test_bad_requests_are_told_at_once():
    model = da.library.pendulum()
    for options, words in (
        ({"formulations": "lagrang"}, "unknown formulation 'lagrang'"),
        ({"coordinates": ["relativ"]}, "unknown coordinates 'relativ'"),
        ({"formulations": []}, "nothing to compare"),
        ({"integrator": "magic"}, "unknown integrator"),
        ({"repeats": 0}, "repeats"),
    ):
        with pytest.raises(da.DalembertError, match=words):
            da.compare(model, 1.0, **options)
    with pytest.raises(KeyError, match="lagrange-multipliers"):
        four_bar()["penalty", "relative"]


@cache
def six_freedoms() -> Coordinates:
    """Of a chain of which no coordinate is ignorable."""
    return da.compile(da.library.n_pendulum(n=6), coordinates="generalized").coordinates


@pytest.mark.parametrize("name", [name for name in FORMULATIONS if not FORMULATIONS[name].explicit])
def test_matrices_have_a_column_for_each_unknown(name):
    """With redundant rows and without any; conditions are finite once redundant rows are left out."""
    rng = np.random.default_rng(0)
    L = rng.normal(size=(6, 6))
    M = L @ L.T + np.eye(6)
    A = rng.normal(size=(2, 6))
    for rows in (A, np.vstack([A, A[:1]]), np.zeros((0, 6))):
        K = FORMULATIONS[name]().matrix(M, rows, six_freedoms())
        assert K is not None and 1 <= K.shape[1] <= 6 + len(rows)
        sizes = np.linalg.svd(K, compute_uv=False)
        sizes = sizes[sizes > 1e-14 * sizes[0]]
        assert sizes[0] / sizes[-1] < 1e12
