"""Validation of joints: their kind decides what they need; initial values fit them."""

from __future__ import annotations

from dalembert.joints import JOINTS, JointData
from dalembert.joints.checks import check_joint as check_kind
from dalembert.joints.checks import check_values
from dalembert.model.fields import nearest
from dalembert.model.validate_elements import ElementSite, check_element
from dalembert.model.validate_scope import Place

__all__ = ["check_initial", "check_joint"]


def check_joint(place: Place, path: str, title: str, joint: JointData) -> None:
    """Everything about a joint but its formulas and its name."""
    check_element(place, path, title, joint)
    if joint.kind not in JOINTS:
        place.report(f"{path}.kind", f"{title}: unknown kind {joint.kind!r}", nearest(joint.kind, sorted(JOINTS)))
        return
    check_kind(JOINTS[joint.kind], joint, ElementSite(place, path, title))


def check_initial(place: Place) -> None:
    """Initial coordinates and rates name joints and have their sizes."""
    for section, given, rates in (
        ("initial", place.model.initial_values, False),
        ("initial_rates", place.model.initial_rates, True),
    ):
        for name, values in given.items():
            path, title = f"{section}.{name}", f"{section} of joint {name!r}"
            if not place.check_joint(path, section, name):
                continue
            sizes = place.sizes(name)
            if sizes is not None:
                check_values(ElementSite(place, path, title), "", "", values, sizes, rates)
