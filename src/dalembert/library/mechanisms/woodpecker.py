"""The woodpecker toy: a bird on a spring whose sleeve slides down a pole, jams, and lets go with every peck.

     ║ ‹▲
     ║╲/ │
    ╔╬╗~~● bird
    ╚╬╝ spring
     ║ sleeve

While the bird hangs out, an edge of the sleeve wedges on the pole and sticks. As it swings in, the sleeve comes free,
it falls, the beak pecks the pole, and the next swing out jams the sleeve again: a limit cycle of impacts, sticking and
slipping.

Data after C. Glocker, "Dynamik von Starrkörpersystemen mit Reibung und Stößen" (1995) and F. Pfeiffer, C. Glocker,
"Multibody Dynamics with Unilateral Contacts" (1996). Their equations are linear in both angles; here the geometry is
exact, so the sleeve is a little shorter: its levers where it jams are theirs.
"""

from __future__ import annotations

from dalembert.model import Model

__all__ = ["woodpecker"]


def woodpecker(
    *, friction: float = 0.3, restitution: float = 0.5, stiffness: float = 0.0056, swing: float = -7.0
) -> Model:
    """A bird, a spring and a sleeve on a pole, let go with the bird out.

    Args:
        friction: coefficient between the pole and sleeve or beak.
        restitution: of the beak; the sleeve has none.
        stiffness: of the spring (N m/rad).
        swing: rate of the bird at the start (rad/s), negative outward.
    """
    model = Model("woodpecker", description="a toy bird that pecks its way down a pole")
    mu, e, k, rate = model.parameters(friction=friction, restitution=restitution, stiffness=stiffness, swing=swing)
    pole, radius, half = 0.0025, 0.003085, 0.00551  # radii of pole and sleeve, half the height of the sleeve (m)
    spring, center, beak = 0.010, 0.025, (0.0049, 0, 0.02)  # of the bird, from the axis of the pole (m)
    model.shape(model.ground, "cylinder", radius=pole, length=0.3, axis="z", pose=(0, 0, -0.1), color="#c4a484")
    sleeve = model.body("sleeve", mass=3e-4, inertia=(5e-9, 5e-9, 5e-9))
    model.shape(sleeve, "cylinder", radius=radius, length=2 * half, axis="z", color="#777777")
    bird = model.body("bird", mass=4.5e-3, com=(center, 0, 0), inertia=(7e-7, 7e-7, 7e-7))
    model.shape(bird, "box", size=(0.012, 0.008, 0.04), pose=(center, 0, 0.004), color="#c0504d")
    model.shape(
        bird, "cylinder", radius=0.0015, length=center - beak[0], axis="x", pose=((center + beak[0]) / 2, 0, 0.02)
    )
    model.shape(bird, "cylinder", radius=0.0008, length=center - spring, axis="x", pose=((center + spring) / 2, 0, 0))
    model.planar("pole", model.ground, sleeve, point=(0, 0, 0), axis="y")
    model.constraint("on the pole", "x(sleeve)")
    model.revolute("spring", sleeve, bird, point=(spring, 0, 0), axis=(0, -1, 0))
    model.joint_force("wire", "spring", -k * model.q("spring"))
    side = {"kind": "plane", "at": (pole, 0, 0), "axis": "x"}
    contacts = (
        ("lower", sleeve, (radius, 0, -half), 0),
        ("upper", sleeve, (radius, 0, half), 0),
        ("beak", bird, beak, e),
    )
    for name, body, at, restitution_ in contacts:
        tip = {"kind": "point", "at": at}
        model.rigid_contact(name, model.ground, body, surfaces=(side, tip), restitution=restitution_, impact="poisson")
        model.contact_friction(f"{name} rub", name, coefficient=mu, along="z")
    model.initial("pole", value=(0, 0, 0.1))
    model.initial("spring", value=-0.18, rate=rate)
    model.output("height", "z(sleeve)", unit="m")
    return model
