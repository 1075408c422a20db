"""A tricycle with two wheels in front, linearized from its parts: eigenvalues against speed, steering against lean.

Its printed dimensions do not close, so its invariants contradict each other next to the reference. They are met by
least squares; what is left is reported by row. Weights mix meters and radians: here they change K0 only, and with it
the speed above which the tricycle capsizes.

Reference: R. M. M. Orsino, "A contribution on modeling methodologies for multibody systems" (2016), section 5.2.
"""

import os
from pathlib import Path

import numpy as np

import dalembert as da

OUT = Path(os.environ.get("DALEMBERT_EXAMPLES_OUT", "."))
AT, HOW = {"x.d": "v"}, {"incompatible": "least-squares"}

trike = da.library.tricycle()
linear = da.linearize(trike, AT, **HOW)
assert linear.kind == "steady motion"
rows = {name: value for name, value in linear.residual.items() if name.endswith("nearby")}
worst = max(rows.items(), key=lambda item: abs(item[1]))
print(f"{len(rows)} rows contradict others next to the reference, by up to {abs(worst[1]):.3g} ({worst[0]})")
second = linear.without("A.psi").second_order("v", coordinates=["A.phi", "A.delta"])
assert np.allclose(second.M, [[92.617421, 1.993001], [1.993001, 0.288191]], rtol=1e-5)

speeds = np.linspace(0.5, 10.0, 20)
chart = da.linearize_over(trike, "v", speeds, AT, **HOW).without("A.psi")
values = np.sort_complex([v for v in linear.without("A.psi").eigenvalues(v=5.0) if v != 0])
assert np.allclose(values, [-7.649195, -0.506272 - 5.767511j, -0.506272 + 5.767511j, -0.414527], atol=1e-5)
print("at 5 m/s:", ", ".join(f"{v:.4f}" for v in values))
for crossing in chart.crossings():
    print(crossing)

# Weights decide where it capsizes
for weight in (1.0, 0.1):
    weighed = da.linearize(trike, AT, weights={"axis": weight}, **HOW).without("A.psi")
    K0 = weighed.second_order("v", coordinates=["A.phi", "A.delta"]).K0 / 9.81
    print(f"axes weighted by {weight:g}: K0 = {np.round(K0, 3).tolist()}")
chart.plot(OUT / "tricycle.png")
chart.plot_ratio("A.delta", "A.phi", OUT / "tricycle-ratio.png")
