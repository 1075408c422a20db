"""The Whitworth quick-return mechanism of section 5.3.1 of the thesis by R. M. M. Orsino, data from its listing.

                 tip
                  o────────────────────□═══  slider P
          rocker ╱╱      coupler
                ╱╱ pin
              A o──● crank (in the slot of the rocker)
               ╱╱
            O o

The crank turns at a constant rate; the slider goes slowly one way and returns quickly.
"""

from __future__ import annotations

from dalembert.planar import Planar

__all__ = ["whitworth"]


def whitworth(*, torque: str = "u1") -> Planar:
    """A Whitworth mechanism that lies flat.

    Args:
        torque: on the crank: the name of an input, or a formula.
    """
    w = Planar("whitworth", description="Whitworth's quick-return mechanism, crank in a slotted rocker")
    w.base(O=(0, 0), A=(0, 0.3))
    slider = w.body("slider", P=(0.8, 0.8), mass=1)
    # Inertias are those of the listing, though the bars are of other lengths.
    coupler = w.body("coupler", P=(0.8, 0.8), tip=(0.15, 0.6), mass=0.2, inertia=0.2 * 0.1**2 / 12)
    rocker = w.body("rocker", O=(0, 0), tip=(0.15, 0.6), mass=0.4, inertia=0.2 * 0.5**2 / 12)
    crank = w.body("crank", A=(0, 0.3), pin=(0.1, 0.4), com="A", mass=0.2, inertia=0.2 * 0.1**2 / 3)
    w.prismatic("guide", "base", slider, axis="x")
    w.revolute("B", slider.P, coupler.P)
    w.revolute("C", coupler.tip, rocker.tip)
    w.revolute("O", "base.O", rocker.O)
    w.revolute("A", "base.A", crank.A, torque=torque)
    w.pin_in_slot("slot", rocker, crank.pin)
    w.output("speed", "guide.speed", unit="m/s")
    w.output("rocker_rate", "rocker.omega", unit="rad/s")
    return w
