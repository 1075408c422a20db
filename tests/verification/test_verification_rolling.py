"""Three discs that roll without slipping, by every formulation that takes nonholonomic constraints."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.pairs import coordinates_of as kinds_of
from support.states import transfer

import dalembert as da
from dalembert.algebra import NUMPY
from dalembert.bench import reference_data
from dalembert.coordinates import Relative
from dalembert.formulations import FORMULATIONS
from dalembert.model import flatten
from dalembert.spatial import Pose, quaternion

DATA = reference_data("rolling_disc")
CASES = DATA["cases"]
# Nine digits of the disc's radius, and of the quaternion.
DIGITS = 1e-9
ROLLING = [name for name, formulation in FORMULATIONS.items() if formulation.supports().nonholonomic]
# What a penalty α leaves open falls with 1/α and rounding grows with α: they meet at some seven digits.
PENALTY_DIGITS = 1e-5
# Momenta with penalties lose α in rounding; turns correct the constraints for any α.
OPTIONS = {"penalty": {"alpha": 1e7}, "canonical-augmented": {"alpha": 1e3}}
TIGHT, LOOSE = {"rtol": 1e-13, "atol": 1e-14}, {"rtol": 1e-10, "atol": 1e-11}


def coordinates_of(name: str, formulation: str) -> tuple[str, ...]:
    """All for one disc; one each for the others. In natural coordinates the body itself would be made of penalties."""
    kinds = tuple(kind for kind in kinds_of(formulation) if formulation not in OPTIONS or kind != "natural")
    return {"tilt": kinds, "hante": kinds[:1], "rill": kinds[-1:]}[name]


@cache
def disc(name: str) -> da.Model:
    """The disc where it starts."""
    given = CASES[name]
    center, Q = np.array(given["start"][:3]), np.array(given["start"][3:])
    R = quaternion.to_matrix(NUMPY, Q)
    model = da.Model(f"disc {name}", gravity=tuple(DATA["gravity"]))
    m, r, axial, across = model.parameters(
        mass=given["mass"], radius=given["radius"], J_axis=given["J_axis"], J_diam=given["J_diam"]
    )
    inertia = R @ np.diag([across, across, axial]) @ R.T
    pose = {"position": tuple(center), "quaternion": tuple(Q)}
    model.body("disc", mass=m, com=tuple(center), inertia=inertia, pose=pose)
    model.rolling_disc("contact", "ground", "disc", point=tuple(center), axis="z", axis_2=tuple(R[:, 2]), radius=r)
    return model


@cache
def start(name: str) -> da.State:
    given = CASES[name]
    center, Q = np.array(given["start"][:3]), np.array(given["start"][3:])
    R, omega = quaternion.to_matrix(NUMPY, Q), np.array(given["omega_world"])
    # The lowest point of the disc, at −r (z − (z·a) a)/|…| from its center, is at rest.
    a = R[:, 2]
    up = np.array([0, 0, 1]) - a[2] * a
    velocity = np.cross(omega, given["radius"] * up / np.linalg.norm(up))
    poses = {"ground": Pose.identity(NUMPY), "disc": Pose(R, center)}
    twists = {"ground": np.zeros(6), "disc": np.concatenate([R.T @ omega, R.T @ velocity])}
    coordinates = Relative(flatten(disc(name)))
    return da.State(0.0, *transfer(coordinates, poses, twists), coordinates, {})


# Every formulation takes the first case every day.
FIRST, *OTHERS = CASES


@pytest.mark.parametrize("formulation", ROLLING)
@pytest.mark.parametrize("name", [FIRST, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_rolling_disc(name, formulation):
    given, exact = CASES[name], FORMULATIONS[formulation].supports().exact
    final, digits = np.array([float(x) for x in given["final"]]), DIGITS if exact else PENALTY_DIGITS
    for coordinates in coordinates_of(name, formulation):
        run = da.simulate(
            disc(name), given["duration"], initial=start(name), coordinates=coordinates,
            formulation=FORMULATIONS[formulation](**OPTIONS.get(formulation, {})),
            output_step=given["duration"] / 10, **(TIGHT if exact else LOOSE),
        )  # fmt: skip
        assert run.certificate.trusted, f"{coordinates}\n{run.certificate}"
        body = run.body("disc")
        np.testing.assert_allclose(
            body.position.values[-1], final[:3], rtol=0, atol=digits * given["radius"], err_msg=coordinates
        )
        Q = body.quaternion.values[-1]
        np.testing.assert_allclose(Q * np.sign(Q @ final[3:]), final[3:], rtol=0, atol=digits, err_msg=coordinates)


@pytest.mark.parametrize("name", CASES)
def test_rolling_disc_on_the_way(name):
    given = CASES[name]
    run = da.simulate(
        disc(name), given["duration"], initial=start(name), rtol=1e-13, atol=1e-14, output_step=given["duration"] / 200
    )
    for t, *values in given["table"]:
        seen = run.data.sel(time=t, method="nearest")
        assert abs(float(seen.time) - t) < 1e-12
        position = seen.position.sel(body="disc").values
        np.testing.assert_allclose(position, values[:3], rtol=0, atol=DIGITS * given["radius"])
        Q = seen.orientation.sel(body="disc").values
        np.testing.assert_allclose(Q * np.sign(Q @ values[3:]), values[3:], rtol=0, atol=DIGITS)
