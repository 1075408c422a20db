"""Public benchmark problems: Andrews' squeezer and the heavy top (sources in ``dalembert.bench``)."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.bench import reference_data
from dalembert.formulations.independent import Independent
from dalembert.integrators import INTEGRATORS
from dalembert.integrators.base import Monitor

ANDREWS = np.array([float(x) for x in reference_data("andrews")["values"]])
TOP = reference_data("heavy_top")

# Andrews' squeezer

ANGLES = ("O", "F", "B", "G", "A5", "H", "A7")  # β θ γ φ δ Ω ε
CLOSED = ("E3", "E4", "E6")
TIGHT = {"rtol": 1e-13, "atol": 1e-14}
ANDREWS_RUNS = {
    "dopri8": TIGHT,
    "tsit5": {"integrator": "tsit5", **TIGHT},
    "radau": {"integrator": "radau", "rtol": 1e-12, "atol": 1e-13},
    "radau index-1": {"stabilization": "index-1", "rtol": 1e-12, "atol": 1e-13},
    "radau ggl": {"stabilization": "ggl", "rtol": 1e-12, "atol": 1e-13},
    "rk4": {"integrator": "rk4", "step": 2e-6},
    "munthe-kaas": {"integrator": "munthe-kaas", "step": 2e-6},
    "partition": {"stabilization": "partition", **TIGHT},
    "baumgarte": {"baumgarte": 10.0, **TIGHT},
    "projection formulation": {"formulation": "projection", **TIGHT},
    "augmented-lagrangian": {"formulation": "augmented-lagrangian", **TIGHT},
    "udwadia-kalaba": {"formulation": "udwadia-kalaba", **TIGHT},
    "woronetz": {"formulation": "woronetz", **TIGHT},
    "canonical": {"formulation": "canonical", **TIGHT},
    "canonical-independent": {"formulation": "canonical-independent", **TIGHT},
    "canonical-augmented": {"formulation": "canonical-augmented", **TIGHT},
    "mixed state": {"formulation": Independent(state="mixed"), **TIGHT},
    "independent state": {"formulation": Independent(state="independent"), **TIGHT},
    # Turns of cut joints are counted between outputs.
    "absolute coordinates": {"coordinates": "absolute", "output_step": 3e-4, **TIGHT},
}


@pytest.mark.parametrize("name", ANDREWS_RUNS)
def test_andrews_squeezer(name):
    run = da.simulate(da.library.andrews(), 0.03, **{"output_step": 0.03, **ANDREWS_RUNS[name]})
    assert run.certificate.trusted, run.certificate
    q = [float(run.joint(joint).q[-1]) for joint in ANGLES]
    u = [float(run.joint(joint).u[-1]) for joint in ANGLES]
    forces = np.concatenate([run.reaction(joint).sel(kind="force").values[-1, :2] for joint in CLOSED])
    np.testing.assert_allclose(q, ANDREWS[:7], rtol=1e-10)
    np.testing.assert_allclose(u, ANDREWS[7:14], rtol=1e-8)
    np.testing.assert_allclose(forces, ANDREWS[21:], rtol=1e-8)


# Heavy top


def heavy_top() -> da.Model:
    given = TOP["definition"]
    model = da.Model("heavy top", gravity=tuple(given["gravity"]))
    model.body(
        "top",
        mass=given["mass"],
        com=tuple(given["com_in_body_from_fixed_point"]),
        inertia=tuple(given["inertia_com_diag"]),
    )
    model.spherical("tip", model.ground, "top", point=(0, 0, 0))
    model.initial("tip", (1, 0, 0, 0), rate=tuple(given["initial_omega_body"]))
    return model


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"rtol": 1e-12, "atol": 1e-13}, 1e-10),
        ({"rtol": 1e-12, "atol": 1e-13, "coordinates": "absolute"}, 1e-10),
        ({"rtol": 1e-12, "atol": 1e-13, "integrator": "tsit5"}, 1e-9),
        ({"rtol": 1e-12, "atol": 1e-13, "integrator": "radau"}, 1e-9),
        ({"integrator": "munthe-kaas", "step": 2e-5}, 1e-9),
    ],
)
def test_heavy_top(options, error):
    run = da.simulate(heavy_top(), 2.0, output_step=0.1, **options)
    final = np.array([float(x) for x in TOP["final"]])
    np.testing.assert_allclose(run.body("top").position.values[-1], final[:3], atol=error)
    quaternion = run.body("top").quaternion.values[-1]
    np.testing.assert_allclose(quaternion * np.sign(quaternion @ final[3:7]), final[3:7], atol=error)


@pytest.mark.parametrize("spectral_radius", [0.6, 0.9])
def test_generalized_alpha_is_of_order_two_in_positions_and_multipliers(spectral_radius):
    """Index 3 in absolute coordinates, over all of the first half second: no order is lost at the start."""
    dynamics = da.compile(heavy_top(), coordinates="absolute")
    q, u = da.assemble(heavy_top()).to(dynamics.coordinates)
    y = np.concatenate([q, u, [0.0]])
    table = np.array(TOP["table"])
    table = table[table[:, 0] <= 0.5 + 1e-9]
    times = table[:, 0].copy()
    exact_q, exact_u = np.zeros((len(times), 7)), np.zeros((len(times), 6))
    exact_q[:, :4], exact_u[:, :3] = table[:, 4:8], table[:, 8:11]
    center = table[:, 1:4]
    # The body's origin is its mass center, which moves with ω × (0, 1, 0) in its own axes.
    exact_q[:, 4:], exact_u[:, 3:] = center, np.cross(exact_u[:, :3], (0, 1, 0))
    _, wanted = dynamics.solve(exact_q, exact_u)
    errors = []
    steps = (4e-4, 2e-4, 1e-4)
    for step in steps:
        method = INTEGRATORS["generalized-alpha"](step=step, spectral_radius=spectral_radius)
        problem, context = dynamics.problem(None, method.needs, (0.0, y))
        memory, out, found = method.start(problem, 0.0, y), np.empty((len(times), len(y))), []
        for k in range(1, len(times)):
            method.advance(problem, memory, times[: k + 1], out, Monitor())
            found.append(memory.multipliers.copy())
        position = np.abs(dynamics.bodies(out[1:, :7])["top"].position - center[1:]).max()
        errors.append((position, np.abs(np.array(found) - wanted[1:, context.active]).max() / np.abs(wanted).max()))
    orders = np.polyfit(np.log(steps), np.log(np.array(errors)), 1)[0]
    assert np.all(orders > 1.9), orders
    assert np.all(orders < 2.2), orders
