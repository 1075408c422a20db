"""Every native function of the package, compiled and as plain Python, on the inputs of real runs."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pytest
import sympy as sp
from support.turning_line import turning_line
from twins import Twins

import dalembert as da
from dalembert.analyses.assembly.assemble_given import read_desired
from dalembert.analyses.assembly.assemble_search import Search
from dalembert.analyses.simulation import drive
from dalembert.analyses.simulation.certify import look_for_singularity
from dalembert.analyses.simulation.live import make_living
from dalembert.analyses.simulation.make_device import make_device
from dalembert.dynamics import choose, rub
from dalembert.dynamics.assembly import settle_all
from dalembert.dynamics.evaluate import coupled_along, largest_open
from dalembert.export import native_device
from dalembert.export.native_device import serve
from dalembert.export.native_run import evaluate_rates, run_live
from dalembert.formulations import FORMULATIONS, Formulation
from dalembert.formulations.augmented_lagrangian import AugmentedLagrangian
from dalembert.formulations.canonical_augmented import CanonicalAugmented
from dalembert.formulations.independent import Independent
from dalembert.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.formulations.modular import Modular
from dalembert.formulations.penalty import Penalty
from dalembert.fuzz.random_models import Size, loop_model, tree_model
from dalembert.integrators import INTEGRATORS, bdf, runge_kutta, scipy_ivp
from dalembert.modular.compiled_system import CompiledSystem
from dalembert.native import FUNCTIONS, native
from dalembert.numerics.along import changes_most, largest_along
from dalembert.numerics.context import FAILED, NO_MASS, Context, Solution, Statistics, System, give_up
from dalembert.numerics.solver_steps import null_space

Work = tuple[str, Callable[[], Any]]

SHORT = 0.01  # s
STEP = SHORT / 2

# Steps that are chosen hang on estimates of errors, and those of a smooth motion are rounding.
FIXED = {"integrator": "rk4", "step": STEP}

# Where steps are chosen, tolerances are far above rounding; an output falls within a step.
LOOSE = {"rtol": 1e-3, "atol": 1e-3, "step": 1.4 * STEP}

# Penalties multiply rounding: modest ones here.
PENALTIES = {
    "penalty": Penalty(alpha=1e3),
    "augmented-lagrangian": AugmentedLagrangian(alpha=1e3),
    "canonical-augmented": CanonicalAugmented(alpha=1e3),
}


def simulate(model: Any, **options: Any) -> da.Trajectory:
    # Companions choose their steps by errors that are rounding here.
    run = da.simulate(model, SHORT, **{"output_step": STEP, "certify": False, **options})
    assert run.certificate.finished, run.certificate
    return run


def formulations() -> Iterator[Work]:
    """All of them in loops, then what only other mechanisms ask for."""
    four_bar = da.library.four_bar()
    for name in FORMULATIONS:
        chosen: str | Formulation = PENALTIES.get(name, name)
        coordinates = "absolute" if name == "newton-euler" else "auto"
        yield name, partial(simulate, four_bar, formulation=chosen, coordinates=coordinates, **FIXED)
    for basis in ("svd", "qr"):
        yield basis, partial(simulate, four_bar, formulation=Independent(basis=basis), **FIXED)
    for state in ("mixed", "independent"):
        yield state, partial(simulate, four_bar, formulation=Independent(state=state), **FIXED)
        for basis in ("svd", "qr"):
            chosen = Independent(basis=basis, keep=True, state=state)
            yield repr(chosen), partial(simulate, four_bar, formulation=chosen, **FIXED)
    given, kept = Independent(basis="given", B=((1.0, 0.0, 0.0),)), Independent(basis="qr", keep=True)
    for chosen in (given, kept, LagrangeMultipliers("saddle"), LagrangeMultipliers("inverse-mass")):
        yield repr(chosen), partial(simulate, four_bar, formulation=chosen, **FIXED)
    yield "accelerations of quasi-velocities", partial(accelerations, four_bar, "boltzmann-hamel")
    yield "a dead point of quasi-velocities", dead_point
    disc, top = da.library.rolling_disc(), da.library.spinning_top()
    yield "rows that are all independent", partial(simulate, disc, formulation="woronetz", **FIXED)
    yield "quaternions", partial(simulate, top, **FIXED)
    for name in ("lagrange-multipliers", "recursive"):
        yield f"a held rank, {name}", partial(simulate, da.library.bennett(), formulation=name, **FIXED)
    for coordinates in ("relative", "absolute"):
        every_node = {"formulation": Modular(merge=False), "coordinates": coordinates}
        yield f"a hierarchy, {coordinates}", partial(simulate, da.library.n_four_bar(n=2), **every_node, **FIXED)
    yield "no inverse of M", partial(simulate, rod(), formulation="udwadia-kalaba", coordinates="absolute", **FIXED)
    yield "a cut joint that yields", partial(simulate, geared(), formulation="recursive", **FIXED)
    vast = loop_model(5, ("revolute", "universal"), ("point-on-plane",), size=Size(1e4))
    for name in ("lagrange-multipliers", "recursive", "woronetz"):
        yield f"a vast mechanism, {name}", partial(simulate, vast, formulation=name, coordinates="relative", **FIXED)


def rod() -> da.Model:
    """Without inertia about its own axis."""
    model = da.Model("rod", gravity=(0, -9.81, 0))
    model.body("rod", mass=2.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1))
    model.revolute("hinge", "ground", "rod", point=(0, 0, 0), axis="z")
    return model


def geared() -> da.Model:
    """A rotor on the cut joint."""
    model = da.library.four_bar()
    cut = da.inspect(model).loops[0].cut
    for i, joint in enumerate(model.joints):
        if joint.name == cut:
            model.joints[i] = type(joint).model_validate({**dict(joint), "armature": 0.3})
    return model


def accelerations(model: da.Model, formulation: str) -> np.ndarray:
    dynamics, start = da.compile(model, formulation=formulation), da.assemble(model, {"A": 0.7}, {"A": 2.0})
    return dynamics.acceleration(*start.to(dynamics.coordinates))


def dead_point() -> None:
    """The rate along x is no velocity where the line is upright."""
    dynamics = da.compile(turning_line(), formulation="kane", coordinates="generalized")
    np.testing.assert_allclose(dynamics.solve([0.0, 2.0], [-2.0, 1.0], t=np.pi / 2)[0], (-2.0, 0.0), atol=1e-12)


def slopes(dynamics):
    """The Jacobian as SciPy's implicit methods ask for it."""
    problem, _ = dynamics.problem(needs=("rhs", "retract", "jacobian"))
    n = problem.size
    return scipy_ivp._slopes(problem, np.linspace(0.0, 0.1, n + 1), np.empty((n, n)))


def methods() -> Iterator[Work]:
    """Integrators and ways to stay on the constraints, and trajectories at other times."""
    four_bar = da.compile(da.library.four_bar())
    for name, method in INTEGRATORS.items():
        yield name, partial(simulate, four_bar, integrator=name, **(LOOSE if method.adaptive else {}))
    for name in ("partition", "stages", "baumgarte"):
        yield name, partial(simulate, four_bar, stabilization=name, **FIXED)
    yield "drift that is allowed", partial(simulate, four_bar, drift=1e-3, **FIXED)
    watching = runge_kutta.Tsitouras5(rtol=1e-3, atol=1e-3, watch_stiffness=True)
    yield "a watch for stiffness", partial(simulate, four_bar, integrator=watching)
    yield "stages, dopri8", partial(simulate, four_bar, integrator="dopri8", stabilization="stages", **LOOSE)
    for name in ("index-1", "ggl"):
        yield name, partial(simulate, four_bar, integrator="radau", stabilization=name, **LOOSE)
    yield (
        "mixed variables",
        partial(simulate, four_bar.model, formulation="canonical", stabilization="index-2", **LOOSE),
    )
    basic = CanonicalAugmented(alpha=1e3, form="basic")
    yield "penalties beside the momenta", partial(simulate, four_bar.model, formulation=basic, **FIXED)
    # A Jacobian by differences multiplies rounding; with one velocity there are no sums that have an order.
    yield "radau in other variables", partial(simulate, rod(), formulation="canonical", integrator="radau", **LOOSE)
    yield "another time", lambda: simulate(four_bar, **FIXED).resample([SHORT / 4])
    yield (
        "an error that is rounding",
        lambda: runge_kutta._is_rounding(runge_kutta.PairMemory(rejections=4, tried=2.0), 3.0),
    )
    yield "slopes for SciPy", partial(slopes, four_bar)
    yield "what accelerations leave open", partial(left_open, four_bar)
    states = np.random.default_rng(0).normal(size=(9, four_bar.nq + four_bar.nv + 1))
    yield (
        "what states leave open",
        lambda: largest_open(four_bar.constraint_lanes, np.zeros(9), states, four_bar.parameters()),
    )
    yield "singular positions", lambda: look_for_singularity(np.random.default_rng(0).normal(size=(5, 3, 2)))
    yield "no singular position", lambda: look_for_singularity(np.tile(np.eye(2, 3), (20, 1, 1)))
    yield "a step of BDF that failed", lambda: bdf._cut(bdf.DifferencesMemory(size=1, order=2, equal=3), 2, 5.0)
    yield "a lower order of BDF", fallen_back
    rows = np.random.default_rng(0).normal(size=(9, 3))
    yield "sizes along a run", lambda: largest_along(rows)
    yield "changes along a run", lambda: changes_most(rows, 4)


def fallen_back() -> None:
    """A step whose error is less at the order below."""
    step = bdf.DifferencesStep(size=1, memory=bdf.DifferencesMemory(size=1, order=3), error=10.0)
    step.d[:], step.scale[:], step.memory.D[3] = 1.0, 1.0, -0.9
    bdf._fall_back(step)
    assert step.memory.order == 2 and step.error < 1.0


def left_open(dynamics: da.Dynamics) -> None:
    """By accelerations that are far from right: what is left of right ones is rounding."""
    q, u = da.assemble(dynamics.model).to(dynamics.coordinates)
    places, context = dynamics.dynamics_kernel.places, dynamics.evaluation({})
    (jacobian, (rows, _)), (gamma, _) = places["jacobian"], places["gamma"]
    states, du = np.concatenate([q, u, [0.0]])[None], np.ones((1, dynamics.nv))
    context.tau[:] = 0.0
    assert coupled_along(context, np.zeros(1), states, du, jacobian, gamma, rows) > 1.0


def subsystems() -> Iterator[Work]:
    """A pendulum by its Cartesian coordinates, with its Jacobian, and a reason to give up."""
    P = da.Subsystem("P")
    m, g, r = P.parameters(m=1.0, g=9.8, r=1.3)
    x, y = P.coordinates("x y")
    P.effective_forces({x: m * g - m * x.dd, y: -m * y.dd})
    P.invariant(x**2 + y**2 - r**2)
    system, start = CompiledSystem(P.equations()), {"x": 1.2, "y.d": 0.3}
    yield "a subsystem", partial(simulate, P, initial=start, **FIXED)
    yield "a subsystem, radau", partial(simulate, P, initial=start, integrator="radau", **LOOSE)
    yield "a subsystem gives up", lambda: give_up(system.problem({}, ("rhs",))[1], 1)


def events() -> Iterator[Work]:
    """An event within a step."""
    model = da.library.four_bar()
    model.event("now", f"t - {SHORT / 3}")
    for name in ("lagrange-multipliers", "canonical"):
        yield f"an event, {name}", partial(simulate, model, formulation=name, integrator="rk4", step=SHORT)
    yield "an event on a cubic", partial(simulate, model, integrator="munthe-kaas", step=SHORT)
    ball = da.Subsystem("ball")
    m, y = ball.parameters(m=1.0), ball.coordinates("y")
    ball.effective_forces({y: -m * y.dd - 9.81 * m})
    ball.event("floor", y, direction="falling", set={y.d: -0.8 * y.d})
    yield "an event of a subsystem", partial(simulate, ball, initial={"y": 1e-4}, integrator="rk4", step=SHORT)
    branching = da.library.four_bar()
    branching.joint_force("push", "A", f"1 if t > {SHORT / 3} else abs(u(A))")
    for name, more in (("rk4", {}), ("radau", LOOSE)):
        yield f"branches, {name}", partial(simulate, branching, integrator=name, **{**more, "step": SHORT})
    driven = da.library.four_bar()
    driven.drive("A", f"t**2 if t > {SHORT / 3} else 2*{SHORT / 3}*t - {SHORT / 3}**2")
    yield (
        "branches of a drive",
        partial(simulate, driven, initial={"A": -((SHORT / 3) ** 2)}, integrator="rk4", step=SHORT),
    )
    slope = da.Subsystem("slope")
    x, y = slope.coordinates("x y")
    slope.effective_forces({x: 1 - x.dd, y: -y.dd})
    slope.invariant(y - sp.Piecewise((x**3, x > 0), (0, True)))
    start = {"x": -SHORT / 3, "x.d": 1.0}
    yield "branches of a subsystem", partial(simulate, slope, initial=start, integrator="rk4", step=SHORT)
    plain, windy = rod_that_rubs(), rod_that_rubs()
    windy.output("load", 'reaction(tip, "normal")')
    windy.force("wind", "rod", value=("-0.1*ax(rod)", 0, 0))
    for name, rod in (("plain", plain), ("windy", windy)):
        yield f"a rod that rubs, {name}", partial(simulate, rod, integrator="rk4", step=SHORT)
    yield "a rod that rubs, radau", partial(simulate, windy, integrator="radau", **LOOSE)
    passing = rod_that_rubs()
    passing.event("passing", f"q(plane, 1) - {SHORT / 3}")
    yield "a rod that rubs, by impulses", partial(simulate, passing, integrator="moreau-jean", step=SHORT)
    yield "friction gives up", lambda: rub._gave_up(da.compile(plain).context())


def rod_that_rubs() -> da.Model:
    """A rod that slides on its end."""
    rod = da.Model("rod")
    body = rod.body("rod", mass=1.0, com=(0.3, 0, 0.4), inertia=(0.1, 0.1, 0.1))
    rod.planar("plane", rod.ground, body, point=(0.3, 0, 0.4), axis="y")
    floor = {"kind": "plane", "axis": "z"}
    rod.rigid_contact("tip", rod.ground, body, surfaces=(floor, {"kind": "point"}))
    rod.contact_friction("rub", "tip", coefficient=0.3, along="x")
    rod.initial("plane", rate=(0, 1.0, 0))
    return rod


def many() -> Iterator[Work]:
    """Samples in the lanes of vector registers, of a body with a quaternion."""
    top, samples = da.library.spinning_top(), {"mass": [1.0, 2.0, 3.0]}
    yield "lanes", partial(da.simulate_many, top, SHORT, output_step=STEP, parameters=samples, threads=1, **FIXED)


def large() -> Iterator[Work]:
    """Rolled recursions, of small models."""
    rng, batch = np.random.default_rng(0), 2
    tree = da.compile(tree_model(0, ("revolute", "spherical", "prismatic", "revolute")))
    q, (u, du) = np.tile(tree.coordinates.neutral(), (batch, 1)), rng.normal(size=(2, batch, tree.nv))
    yield "a tree", partial(simulate, tree, **FIXED)
    yield "a tree, inverse", partial(tree.inverse, q, u, du)
    yield "a tree, seen", partial(tree.observe, np.zeros(batch), q, u)
    windows = da.compile(da.library.n_four_bar(n=2))
    assert tree.is_large and windows.is_large
    yield "loops", partial(simulate, windows, **FIXED)
    yield "loops, stages", partial(simulate, windows, stabilization="stages", **FIXED)


def prescribed() -> Iterator[Work]:
    """Motion that is given: positions that follow, that are led there first, and that are integrated."""
    short = {"duration": SHORT, "output_step": STEP}
    yield "a drive", partial(da.inverse_dynamics, da.library.four_bar(), {"A": "2*t"}, **short)
    rubs = da.library.pendulum()
    rubs.friction("rub", "pivot", coefficient=0.2, radius=0.05)
    yield "a joint that rubs", partial(da.inverse_dynamics, rubs, {"pivot": "2*t"}, **short)
    slider, law = da.library.slider_crank_3d(), {"x(slider)": "0.22 + t"}
    yield "at another place", partial(da.inverse_dynamics, slider, law, unknowns=["crank_bearing"], **short)
    rolling = {f"contact[{i}]": f"0.{i} + t" for i in (2, 3, 4)}
    yield "rolling", partial(da.inverse_dynamics, da.library.rolling_disc(), rolling, **short)
    sled = da.Subsystem("sled")
    x, y, heading = sled.coordinates("x y heading")
    v, push, turn = sled.quasi_velocity("v"), *sled.input("push turn")
    sled.kinematics({x.d: v, y.d: v * heading})
    sled.effective_forces({v: push - v.d, heading: turn - heading.dd})
    yield "a subsystem", partial(da.inverse_dynamics, sled, {"v": "1 + t", "heading": "t"}, **short)


def closures() -> Iterator[Work]:
    """Positions from a bad guess, along a path and from random starts; rates along a driven motion."""
    model = da.library.four_bar()
    yield "a guess", partial(da.assemble, model, {"A": 1.0}, guess={"B": -2.0, "D": 2.0})
    yield "a path", partial(da.assemble, model, {"A": 0.6}, {"A": 2.0})

    def starts() -> None:
        dynamics = da.compile(model, coordinates="relative")
        search = Search(dynamics, read_desired(dynamics.coordinates, {"A": 1.0}, "initial"), {}, 0.0)
        rows = search.starts(2, np.random.default_rng(0), np.zeros(dynamics.nq), None)
        settle_all(search.record, 0.0, rows, np.empty(2))

    yield "random starts", starts
    yield "kinematics", partial(da.kinematics, model, SHORT, {"A": "2*t + 0.3"}, output_step=STEP)


def programs() -> Iterator[Work]:
    """Whole runs as one native function: a tree, loops from a given start, in other coordinates, events that act."""
    top, ball, four_bar = da.library.spinning_top(), da.Model("ball"), da.library.four_bar()
    ball.parameters(e=0.8)
    ball.prismatic("drop", ball.ground, ball.body("ball", mass=1, inertia=(1, 1, 1)), point=(0, 0, 0), axis="z")
    ball.event("bounce", "q(drop) + 1e-4", direction="falling", rates={"drop": "-e*u(drop)"}, set={"e": "0.9*e"})
    begun = {"initial": {"A": 0.7}, "initial_rates": {"A": 2.0}}
    yield "a ball that others integrate", partial(integrated_by_others, simulate(ball, **FIXED))
    yield "a loop that others integrate", partial(closed_by_others, simulate(four_bar, **FIXED))
    yield "a ball in steps", partial(stepped, simulate(ball, **FIXED))
    for model, options in ((top, {}), (ball, {}), (four_bar, {"coordinates": "absolute", **begun})):
        live = make_living(simulate(model, output_step=STEP / 4, **options, **FIXED), []).live
        live.watch.nearly = 1.0  # singular positions are looked for at every output
        yield f"{model.name} as a program", partial(run_live, live)
        x, rate = live.states[0].copy(), np.empty(live.nx)
        yield f"rates of {model.name} as a program", partial(evaluate_rates, live, 0.0, x, rate)


def integrated_by_others(run: da.Trajectory) -> None:
    """Model Exchange: rates, indicators, an event that acts."""
    device = make_device(run).device
    device.exchange = True
    for what in (native_device.BEGIN, native_device.RATES, native_device.INDICATE, native_device.OBSERVE):
        assert serve(device, what) == 0
    device.time, device.states[:] = STEP, (-2e-4, -0.1)
    assert serve(device, native_device.COMPLETE) == 0 and device.again
    assert serve(device, native_device.EVENTS) == 0 and device.states[1] > 0.0
    assert serve(device, native_device.EXPOSE) == 0


def closed_by_others(run: da.Trajectory) -> None:
    """Model Exchange of a loop: a trial state close by, and one that is walked to."""
    device = make_device(run).device
    device.exchange = True
    assert serve(device, native_device.BEGIN) == 0
    for device.states[0] in (0.0, 0.3):
        assert serve(device, native_device.RATES) == 0
    assert serve(device, native_device.COMPLETE) == 0 and serve(device, native_device.EVENTS) == 0


def stepped(run: da.Trajectory) -> None:
    """Co-Simulation: from one communication point to the next, and with a parameter that was changed."""
    device = make_device(run).device
    assert serve(device, native_device.BEGIN) == 0
    for k in range(3):
        device.target, device.changed = (k + 1) * STEP, k == 2
        assert serve(device, native_device.STEP) == 0 and device.time == device.target


def undetermined() -> Iterator[Work]:
    """Nothing has mass, and nothing is held."""

    def work() -> None:
        context = Context(nq=2, nv=2, rows=1, statistics=Statistics())
        zero = [np.zeros(shape) for shape in ((2, 2), 2, (1, 2), 1, 0, 1, 2, 0)]
        assert null_space(context, 0.0, System(*zero), Solution(np.zeros(2), np.zeros(1))) == FAILED
        assert context.statistics.failure == NO_MASS

    yield "nothing is determined", work


WORKS = (formulations, methods, subsystems, events, many, large, prescribed, closures, programs, undetermined)


@pytest.mark.slow
def test_every_native_function_has_its_twin(monkeypatch):
    monkeypatch.setattr(drive.Driver, "_advance", _in_this_thread)
    monkeypatch.setattr(choose, "TREES_ROLLED_FROM", 4)
    monkeypatch.setattr(choose, "LOOPS_ROLLED_FROM", 5)
    twins = Twins()
    for name, work in chain.from_iterable(kind() for kind in WORKS):
        with twins.watch():
            work()
        assert not twins.wrong, name + "\n" + "\n".join(twins.wrong)
    for module in pkgutil.walk_packages(da.__path__, "dalembert."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    missing = sorted(name for name in FUNCTIONS if name.startswith("dalembert.") and not twins.seen[name])
    assert not missing, "\n".join(map(str, missing))


@native
def _doubled(x, out):
    out[:] = 2.0 * x


def _nearly_doubled(x, out):
    out[:] = (2.0 + 1e-8) * x


def test_a_wrong_twin_is_found(monkeypatch):
    x, out, twins = np.ones(2), np.zeros(2), Twins()
    with twins.watch():
        _doubled(x, out)
    assert twins.seen[_doubled.key] == 1 and not twins.wrong
    monkeypatch.setattr(_doubled, "python", _nearly_doubled)
    with twins.watch():
        _doubled(x, out)
    assert len(twins.wrong) == 1 and "_doubled: array 1" in twins.wrong[0]


def _in_this_thread(driver):
    """Time loops run where they are called."""
    return driver.method.advance(driver.problem, driver.memory, driver.times, driver.out, driver.monitor)
