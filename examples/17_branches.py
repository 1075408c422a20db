"""The two ways in which a four-bar linkage closes, and the eight of a platform on three legs."""

import math
import os
from pathlib import Path

import numpy as np

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
a, b, c, d = 0.4, 1.0, 0.8, 1.0  # crank, coupler, rocker, base
angle = 1.0

model = da.library.four_bar(crank=a, coupler=b, rocker=c, base=d)
branches = da.assemble(model, {"A": angle}, {"A": 2.0}, branches="all")
print(branches)
assert set(branches.names) == {"open", "crossed"}

# By hand: C lies where the circle of the coupler about B meets the circle of the rocker about D. Seen from D, the
# two directions to C lie at equal angles on both sides of the line to B.
BD = math.sqrt(a**2 + d**2 - 2 * a * d * math.cos(angle))
half = math.acos((c**2 + BD**2 - b**2) / (2 * c * BD))
rocker = [float(state.joint("D")[0][0]) for state in branches]
by_hand = 2 * half
found = abs(rocker[0] - rocker[1])
print(f"the rocker stands {math.degrees(found):.6f}° apart, by hand {math.degrees(by_hand):.6f}°")
assert abs(math.remainder(found - by_hand, 2 * math.pi)) < 1e-12

# Each branch is a motion of its own: with the same speed of the crank the rocker turns differently.
for name, state in zip(branches.names, branches, strict=True):
    print(f"{name:<8} rocker at {state.joint('D')[1][0]:+.4f} rad/s")

# A platform at a given pose: every knee may bend to both sides.
platform = da.library.three_rrr()
pose = {"platform.center.x": 0.3, "platform.center.y": -0.2, "platform.angle": 0.2}
working_modes = da.assemble(platform, pose, branches="all")
print(working_modes)
assert len(working_modes) == 2**3

working_modes.draw(out / "17_branches.png")
da.simulate(model, 2.0, initial=branches["crossed"]).animate(out / "17_branches.html")
assert np.isclose(branches["crossed"].joint("A")[0][0], angle)
