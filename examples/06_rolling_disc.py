"""A disc that leans and rolls in a circle without slipping."""

import os
from pathlib import Path

import numpy as np

import dalembert as da

out = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
m, r, g = 1.0, 0.3, 9.81
A, C = m * r**2 / 4, m * r**2 / 2
lean, turn = 0.35, -2.5  # leaning to the right, turning to the right

# Steady rolling: lean θ, rate of heading Ω and rate of spin n stay constant if the moments balance,
#     Ω cos θ [(C + m r²)(n + Ω sin θ) − A Ω sin θ] + m g r sin θ = 0
s, c = np.sin(lean), np.cos(lean)
spin = (-m * g * r * s / (turn * c) + A * turn * s) / (C + m * r**2) - turn * s
radius = r * spin / abs(turn)
print(f"spin {spin:.4f} rad/s, so the contact runs in a circle of radius {radius:.4f} m")

model = da.library.rolling_disc(mass=m, radius=r, lean=lean, spin=spin, turn=turn)
run = da.simulate(model, 2 * np.pi / abs(turn))
print(run.certificate)

contact = run.joint("contact").q.values  # x, y, heading, lean, spin
x, y = contact[:, 0], contact[:, 1]
distance = np.hypot(x, y + radius)  # the center of the circle is to the right of the start
missed = np.hypot(x[-1], y[-1])
print(f"radius {distance.min():.6f} … {distance.max():.6f} m, back at the start within {missed:.1e} m")
assert np.abs(distance - radius).max() < 1e-6
assert missed < 1e-6
assert np.ptp(contact[:, 3]) < 1e-7

# Rolling without slipping does no work: the energy is conserved.
assert np.ptp((run.energy.kinetic + run.energy.potential).values) < 1e-7

# Now give it a knock: it wobbles about the circle.
run = da.simulate(da.library.rolling_disc(lean=lean, spin=spin, turn=turn, fall=0.8), 8.0)
assert run.certificate.trusted
run.plot(out / "06_rolling_disc.png")
run.animate(out / "06_rolling_disc.html")
