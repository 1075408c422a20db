"""How accurate a run is: companions run the same problem at another tolerance, and their differences tell.

A loose companion is cheap and good to one decade: enough to acquit a run. In doubt a tighter one decides. Methods with
fixed steps are compared with an adaptive run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analyses.simulation.choose_integrator import LOOSE, Choice
from dalembert.analyses.simulation.drive import Driver, guard_spacing
from dalembert.analyses.simulation.motion_sizes import LEAST_SIZE, accuracy_of, sizes_of_motion
from dalembert.dynamics import Context, Dynamics, cached_dynamics
from dalembert.errors import DalembertError
from dalembert.formulations.lagrange_multipliers import LagrangeMultipliers
from dalembert.integrators import Integrator, Status
from dalembert.integrators.bdf import BackwardDifferences
from dalembert.integrators.radau import Radau
from dalembert.integrators.runge_kutta import DormandPrince8, Tsitouras5
from dalembert.model.data import ContactEvent
from dalembert.trajectory.certificate import Estimate
from dalembert.trajectory.outcome import Occurrence, Outcome

if TYPE_CHECKING:
    from dalembert.modular.compiled_system import CompiledSystem

__all__ = ["estimate_by_other", "estimate_error", "estimate_motion"]

# The loose companion: for runs at this tolerance or tighter, never looser than LOOSEST; how many times looser, and with
# which power of that its error goes; it acquits if its difference is so many times below what is allowed, and below
# NONLINEAR of the size of the motion. If it comes as near to both as PROMISING, one that is LESS_LOOSE may acquit too.
TIGHT, LOOSEST = 1e-7, 1e-4
FORETOLD = 300.0  # tolerances that the accuracy must be: what methods make of one differs
LOOSER = {DormandPrince8: (1e6, 1.0), Tsitouras5: (1e4, 1.0), Radau: (1e4, 0.8)}
PROMISING, LESS_LOOSE = 5.0, 10.0
# where a companion at FINE or tighter is far from coarse effects, ACQUIT_FINE times are enough.
ACQUIT, NONLINEAR, FINE, ACQUIT_FINE = 10.0, 0.1, 1.1e-5, 5.0
DEFECT = 0.2  # share of the largest defect of a step that counts as error
SHARE, STAGES = 0.6, 6  # of the run's evaluations it may use; evaluations in one of its steps
OFF = 1.0  # tolerances, of the size of the motion: how far it may be off constraints before it is led back
FEWEST_STEPS = 200

# Errors that may be far from in proportion to the tolerance count ROUGH times: where that share of the steps was
# rejected, few hard steps decide (on a stiff stop, or at the limit of stability), and where a method took over, another
# one began. With so few outputs or steps a difference may be small by chance, and counts CHANCE times.
ERRATIC: dict[type[Integrator], float] = {DormandPrince8: 0.25, Tsitouras5: 0.05, Radau: 0.1}
FEW_STEPS: dict[type[Integrator], int] = {DormandPrince8: 50, Tsitouras5: 100, Radau: 100}
FEW_OUTPUTS, CHANCE, ROUGH = 8, 30.0, 300.0

# The tight companion: by how much tighter, how much of the error its difference shows, and a margin; not below FINEST.
# If it finds the error close to what is allowed, or less than BELOW times below that, where some outputs may show too
# little of it, one that is tighter still decides at every output: its difference is nearly all of the error.
TIGHTER, SHOWN, MARGIN, FINEST = 10.0, 0.9, 1.3, 2e-14
TIGHTEST, CLOSE, CLOSE_MARGIN, BELOW = 100.0, 1.1, 1.05, 3.0
MORE_STEPS = 20

# Of methods with fixed steps: the companion's tolerance as a share of the accuracy, and its bounds.
# In doubt a far finer one decides: near the line, which is so many times what is allowed, the first may tip the scales,
# and where disturbances grow, it may be the worse of the two.
FINER, FINEST_YET, NEAR, BOUNDS = 1e-3, 1e-7, 2.0, (1e-12, 1e-5)

TOUCHING = 4  # steps of a companion for one of `moreau-jean` with contacts
SHORT = 50_000  # evaluations: companions of runs with fewer need no thread in which they can be interrupted
CLOSER = "a larger penalty, or formulation='augmented-lagrangian'"
SAME_EVENT = 1e-9  # of the duration: outputs as near as that to a jump are not compared


class _Companion(Driver):
    """A run beside another one: as far between its places to look at the equations, or nowhere if that is 0; states
    may be so far off the constraints (see ``Context.drift``)."""

    def __init__(self, run: _Run, choice: Choice, spacing: float, off: float = 0.0):
        self.apart, self.short = spacing, run.outcome.result.evaluations < SHORT
        self.most = run.most_steps
        made = run.driver and run.driver.made_for
        if run.driver is not None and made and made[0] is run.dynamics and made[1].needs == choice.method.needs:
            # What is made for the one does for the other (``Driver._keeps_problem``).
            self.problem, self.context = run.driver.problem, run.driver.context
            self.made_for = run.dynamics, choice.method
        super().__init__(run.dynamics, choice, run.times, run.start, run.outcome.segments[0][1])
        self.off = 0.0 if self.problem.n_events or self.problem.staged else off  # events may look at what is off

    def begin(self, t: float, x: np.ndarray, written: int, happened: int = 0, active: np.ndarray | None = None) -> None:
        super().begin(t, x, written, happened, active)
        self.problem.spacing = self.apart

    def _advance(self) -> Status:
        if not self.short:
            return super()._advance()
        return self.method.advance(self.problem, self.memory, self.times, self.out, self.monitor)

    def _react(self) -> tuple[str | None, str | None]:
        """A companion that goes from event to event without an end is no help: each start may take all steps again."""
        if int(self.account.totals(self.memory)[:2].sum()) > self.most:
            return None, "it takes far more steps than the run"
        return super()._react()

    def run(self) -> Outcome:
        context, before = self.context, self.context.drift if self.off else 0.0
        try:
            if self.off:
                context.drift = max(self.off, before)
            outcome = super().run()
        finally:
            if self.off:
                context.drift = before
        if self.loop.interrupted:
            raise KeyboardInterrupt
        return outcome


@dataclass(frozen=True)
class _Run:
    """A run that is judged.

    Attributes:
        at, times: outputs at which companions are compared with it: their numbers, and times.
        method: the integrator at its end.
        sizes: of the states, see ``motion_sizes``.
        driver: that made it, if it is at hand: companions work with its equations.
        units: of the states, in which least sizes are added to those.
        jumping: the first of the entries that impacts make jump within steps, if there are any.
    """

    dynamics: Dynamics | CompiledSystem
    choice: Choice
    outcome: Outcome
    wanted: np.ndarray
    at: np.ndarray
    method: Integrator
    sizes: np.ndarray
    accuracy: float
    units: np.ndarray
    driver: Driver | None = None
    jumping: int | None = None

    @property
    def most_steps(self) -> int:
        """Of a companion in doubt."""
        return MORE_STEPS * (self.outcome.result.steps + self.outcome.result.rejected) + FEWEST_STEPS

    @property
    def start(self) -> np.ndarray:
        return self.outcome.result.states[0].copy()

    @cached_property
    def times(self) -> np.ndarray:
        return self.wanted[self.at]

    @property
    def spacing(self) -> float:
        return guard_spacing(self.wanted)

    @property
    def span(self) -> float:
        return float(self.wanted[-1] - self.wanted[0])

    def thinned(self) -> _Run:
        """With some of the outputs."""
        return replace(self, at=self.outcome.some)

    def sparse(self) -> _Run:
        """With few of them."""
        return replace(self, at=self.outcome.few)

    @property
    def exact(self) -> bool:
        """Whether its equations satisfy the constraints exactly."""
        return _is_exact(self.dynamics)

    def acts(self, name: str) -> bool:
        """Whether an event does more than to be noted."""
        if not isinstance(self.dynamics, Dynamics):
            return True  # those of subsystems always act
        event, _ = self.dynamics.flat.events[name]
        return event.acts or event.stop

    def rest_after(self, name: str) -> str:
        """The event that ends the bounces of which an event is one; empty if it is none."""
        event = self.dynamics.flat.events[name][0] if isinstance(self.dynamics, Dynamics) else None
        return f"{event.contact} rest" if isinstance(event, ContactEvent) and event.side >= 0 else ""

    @property
    def erratic(self) -> bool:
        """Its error may be far from in proportion to the tolerance."""
        result, share = self.outcome.result, ERRATIC.get(type(self.method), 1.0)
        took_over = type(self.choice.method) is not type(self.method)
        return took_over or result.rejected > share * (result.steps + result.rejected)

    @property
    def meager(self) -> bool:
        """So few outputs or steps that differences may be small by chance, and a far tighter companion can tell."""
        few = len(self.wanted) <= FEW_OUTPUTS or self.outcome.result.steps < FEW_STEPS.get(type(self.method), 0)
        return few and getattr(self.method, "rtol", 0.0) / TIGHTEST >= FINEST

    @property
    def tolerance(self) -> float:
        """What acts of both tolerances, relative to the largest size."""
        method: Any = self.method
        return max(method.rtol, method.atol / float((self.sizes + self.floor).max(initial=1e-300)))

    @cached_property
    def floor(self) -> np.ndarray:
        """Added to all sizes."""
        atol, rtol = (getattr(self.method, name, None) for name in ("atol", "rtol"))
        share = LEAST_SIZE if atol is None or rtol is None else min(max(atol / rtol, 1e-9), LEAST_SIZE)
        return share * self.units

    @property
    def extent(self) -> float:
        """The size of the motion and of the mechanism, 1 at most; 0 where constraints do not lead states back, or in
        another way."""
        d = self.dynamics
        if not isinstance(d, Dynamics) or not d.rows or d.is_large or d.variables is not None:
            return 0.0
        sizes = self.sizes + self.floor
        parts = sizes[: d.nq], sizes[d.nq :]
        arm = d.coordinates.usual_arm or 1.0
        return min(arm, 1.0, float(self.units.min(initial=1.0)), *(float(part.max(initial=0.0)) for part in parts))

    @property
    def shortest(self) -> float:
        """The smallest unit of a coordinate, or 1."""
        nq = self.dynamics.nq if isinstance(self.dynamics, Dynamics) else 0
        return float(self.units[:nq].min(initial=1.0))


def estimate_motion(
    dynamics: Dynamics, choice: Choice, outcome: Outcome, accuracy: float | None, driver: Driver | None = None
) -> tuple[float, Estimate | None]:
    """The accuracy that the run of a mechanism is held to, and its error.

    Args:
        driver: that made the run, if it is at hand.
    """
    sizes, units = sizes_of_motion(dynamics, outcome)
    return estimate_error(dynamics, choice, outcome, sizes, accuracy, driver, units)


def estimate_by_other(
    dynamics: Dynamics, choice: Choice, outcome: Outcome, other: Outcome, accuracy: float | None, scale: float, by: str
) -> tuple[float, Estimate | None]:
    """As ``estimate_motion``, by a companion that was run elsewhere; its difference times ``scale`` is the error."""
    run = _judged(dynamics, choice, outcome, *sizes_of_motion(dynamics, outcome), accuracy)
    if not outcome.finished:
        return run.accuracy, None
    rtol = getattr(run.method, "rtol", None) if run.method.adaptive else None
    found = _verdict(run, other, scale, by, rtol or run.accuracy)
    if not run.exact:
        note = f"what formulation {dynamics.formulation.name!r} leaves open is not known.  Fix: 'augmented-lagrangian'"
        found = replace(found, error=np.inf, acquitted=False, note=note)
    return run.accuracy, replace(found, rtol=rtol)


def estimate_error(
    dynamics: Dynamics | CompiledSystem,
    choice: Choice,
    outcome: Outcome,
    sizes: np.ndarray,
    accuracy: float | None,
    driver: Driver | None = None,
    units: np.ndarray | None = None,
) -> tuple[float, Estimate | None]:
    """The accuracy that a run is held to, and its error; None for a run that did not reach its end.

    Args:
        choice: how the run began.
        sizes: of q and u, or of all states (see ``motion_sizes``).
        units: of the same; default: 1.
    """
    context = driver.context if driver is not None and isinstance(driver.context, Context) else None
    if context is None or context.n_assumed:
        driver = context = None
    units = np.ones(len(sizes)) if units is None else units
    run = _judged(dynamics, choice, outcome, sizes, units, accuracy, driver)
    wanted, method, times = run.accuracy, run.method, run.wanted
    if not outcome.finished:
        return wanted, None
    # What the run saw, and its parameters, are as before when companions are done with its equations.
    kept = None if context is None else (context.statistics.slot_words.copy(), context.parameters.copy())
    try:
        found = _estimate(run)
    except KeyboardInterrupt:
        found = Estimate(np.inf, wanted, np.nan, float(times[0]), note="interrupted by the user")
    finally:
        if context is not None and kept is not None:
            context.statistics.slot_words[:], context.parameters[:] = kept
    return wanted, replace(found, rtol=getattr(method, "rtol", None) if method.adaptive else None)


def _judged(
    dynamics: Dynamics | CompiledSystem,
    choice: Choice,
    outcome: Outcome,
    sizes: np.ndarray,
    units: np.ndarray,
    accuracy: float | None,
    driver: Driver | None = None,
) -> _Run:
    times, method = outcome.times, outcome.method
    assert times is not None and method is not None
    every = np.arange(len(times))
    asked = accuracy_of(method, accuracy, _is_exact(dynamics))
    return _Run(dynamics, choice, outcome, times, every, method, sizes, asked, units, driver)


def _is_exact(dynamics: Dynamics | CompiledSystem) -> bool:
    return not isinstance(dynamics, Dynamics) or not dynamics.rows or dynamics.formulation.exact


def _estimate(run: _Run) -> Estimate:
    if not run.exact:
        return _by_exact(run)
    if run.method.jumps and isinstance(run.dynamics, Dynamics) and run.dynamics.flat.contacts:
        return _by_smaller_steps(run)
    if not run.method.adaptive:
        return _by_adaptive(run)
    method: Any = run.method
    spent, rtol = 0, getattr(method, "rtol", 1.0)
    if rtol <= TIGHT and type(method) in LOOSER and run.accuracy >= FORETOLD * run.tolerance:
        factor = min(LOOSER[type(method)][0], LOOSEST / rtol)
        sparse = run if run.erratic else run.sparse()
        found, beyond = _by_loose(sparse, factor)
        if 1.0 < beyond <= PROMISING:
            spent = found.evaluations
            found, beyond = _by_loose(sparse, factor / LESS_LOOSE)
        spent += found.evaluations
        if found.acquitted:
            return replace(found, evaluations=spent)
    if (run.erratic or run.meager) and rtol / TIGHTEST >= FINEST:  # the error at rtol/10 may be as large
        found = _by_tight(run, TIGHTEST, CLOSE_MARGIN)
        spent += found.evaluations
        if np.isfinite(found.error):  # else it stopped on the way
            return replace(found, evaluations=spent)
    thinned = run.thinned()
    found = _by_tight(thinned, TIGHTER, MARGIN / SHOWN)
    spent += found.evaluations
    doubt = run.accuracy / BELOW < found.error <= CLOSE * MARGIN / SHOWN * run.accuracy
    if doubt and rtol / TIGHTEST >= FINEST:
        found = _by_tight(run, TIGHTEST, CLOSE_MARGIN)
        spent += found.evaluations
    elif doubt and len(thinned.at) < len(run.at):
        found = _by_tight(run, TIGHTER, MARGIN / SHOWN)
        spent += found.evaluations
    return replace(found, evaluations=spent)


def _by_loose(run: _Run, factor: float) -> tuple[Estimate, float]:
    """By a cheap run at a tolerance that is looser by a factor, good enough to acquit; and what it found over what it
    may find to acquit."""
    method: Any = run.method
    power, result = LOOSER[type(method)][1], run.outcome.result
    loosened = {"rtol": method.rtol * factor, "atol": method.atol * factor, "max_step": np.inf}
    steps = max(FEWEST_STEPS, round(SHARE * result.evaluations / STAGES))
    if isinstance(method, Radau):
        loose: Integrator = replace(method, **loosened, max_steps=steps)
    else:
        loose = Tsitouras5(**loosened, max_steps=steps, watch_stiffness=True)
    off = 0.0 if isinstance(method, Radau) else OFF * loosened["rtol"] * run.extent
    other = _Companion(run, replace(run.choice, method=loose, fallback=None), 0.0, off)
    compared = _Compared(run, other.run())
    scale = (ACQUIT_FINE if loosened["rtol"] <= FINE else ACQUIT) / factor**power
    difference, scale = compared.largest, scale * (ROUGH if run.erratic else CHANCE if run.meager else 1.0)
    limit = NONLINEAR / (CHANCE if run.erratic or run.meager else 1.0)
    error = max(scale * difference, DEFECT * result.defect * method.rtol)
    beyond = max(difference / limit, error / run.accuracy) if compared.whole else np.inf
    growth = difference / loosened["rtol"]
    by = f"by a run at rtol {loosened['rtol']:.0e}"
    found = Estimate(error, run.accuracy, growth, compared.end, by, compared.evaluations, acquitted=beyond <= 1.0)
    return found, beyond


def _by_tight(run: _Run, tighter: float, scale: float) -> Estimate:
    """By a run at a tighter tolerance, which sees nearly all of the error; ``scale`` is a margin."""
    method: Any = run.method
    if isinstance(method, BackwardDifferences):
        method = Radau(rtol=method.rtol, atol=method.atol, max_step=method.max_step)
    elif type(method) not in LOOSER:
        return _by_adaptive(run)
    # Beyond the finest tolerance a looser run shows more than the error.
    finer = method.rtol / tighter >= FINEST
    factor, scale = (1 / tighter, scale) if finer else (TIGHTER, 1.0)
    retuned = partial(_retuned, factor=factor, max_steps=run.most_steps)
    fallback = run.choice.fallback
    if type(run.choice.method) is type(method):
        choice = replace(run.choice, method=retuned(run.choice.method), fallback=fallback and retuned(fallback))
    elif fallback is not None and type(fallback) is type(method):  # it took over on the way
        choice = replace(run.choice, method=retuned(run.choice.method), fallback=retuned(fallback))
    else:
        choice = replace(run.choice, method=retuned(method), fallback=None)
    by = f"by a run at rtol {method.rtol * factor:.0e}"
    steps = run.outcome.result.steps if finer and type(run.method) in LOOSER else 0
    return _decided(run, choice, scale, by, min(method.rtol, method.rtol * factor), steps)


def _retuned(method: Any, factor: float, max_steps: int) -> Integrator:
    return replace(method, rtol=method.rtol * factor, atol=method.atol * factor, max_steps=max_steps)


def _by_smaller_steps(run: _Run) -> Estimate:
    """By a run with smaller steps, for an error that goes with the step."""
    method: Any = run.method
    assert isinstance(run.dynamics, Dynamics), "subsystems have no contacts"
    step = min(method.step, float(np.diff(run.wanted).min())) / TOUCHING
    choice = replace(run.choice, method=replace(method, step=step), fallback=None)
    by, nq = f"by a run with steps of {step:.2g} s", run.dynamics.nq
    found = _decided(replace(run, jumping=nq), choice, TOUCHING / (TOUCHING - 1), by, step)
    error = found.error + step * _sharpest_turn(run, nq)
    return replace(found, error=error, acquitted=error <= run.accuracy)


def _lasting(shares: np.ndarray) -> np.ndarray:
    """Differences that last for two outputs: at a single one, a velocity before an impact may stand beside one behind
    it."""
    if len(shares) < 3:
        return shares
    beside = np.maximum(shares[np.r_[1, : len(shares) - 1]], shares[np.r_[1 : len(shares), -2]])
    return np.minimum(shares, beside)


def _sharpest_turn(run: _Run, nq: int) -> float:
    """The largest jump of a rate of q between outputs, relative to sizes.

    An impact counts from the end of its step. Steps of a companion that divide those of the run may end in the same
    moment: what then is left of the error, a step of the companion times this jump, no difference shows.
    """
    result = run.outcome.result
    times, kept = np.unique(result.time, return_index=True)
    if len(times) < 3:
        return 0.0
    slopes = np.diff(result.states[kept][:, :nq], axis=0) / np.diff(times)[:, None]
    jumps = 2.0 * np.abs(np.diff(slopes, axis=0))  # the outputs beside an impact share its jump
    return float((jumps / (run.sizes + run.floor)[:nq]).max(initial=0.0))


def _by_adaptive(run: _Run) -> Estimate:
    """By an adaptive run that is much finer than asked."""
    method: Any = run.method
    if method.adaptive:  # not one of ours: what a tolerance is worth to it, ours at a tenth need not better
        return _by_automatic(run, method.rtol / TIGHTEST, MARGIN)
    found = _by_automatic(run, run.accuracy * FINER, 1.0)
    near = run.accuracy / NEAR < found.error < run.accuracy * NEAR
    if not near and (found.acquitted or not (found.growth or 0.0) > 1.0 / FINER):
        return found
    again = _by_automatic(run, run.accuracy * FINEST_YET, 1.0)
    return replace(again, growth=found.growth, evaluations=found.evaluations + again.evaluations)


def _by_exact(run: _Run) -> Estimate:
    """By a formulation that satisfies the constraints exactly: what another one leaves open no tolerance shows."""
    own: Any = run.dynamics
    by = LagrangeMultipliers()
    try:
        exact = cached_dynamics(own.model, by, own.recipe.coordinates)
    except DalembertError as error:
        note = f"formulation {by.name!r} cannot take it: {error}"
        return Estimate(np.inf, run.accuracy, np.nan, float(run.times[0]), by.name, 0, False, note)
    exact.rows.held |= own.rows.held
    rtol = getattr(run.method, "rtol", run.accuracy) / TIGHTER
    found = _by_automatic(replace(run, dynamics=exact, driver=None), min(rtol, run.accuracy * FINER), MARGIN)
    return replace(found, by=f"{found.by} and {by.name}", growth=None, fix=CLOSER)


def _by_automatic(run: _Run, rtol: float, scale: float) -> Estimate:
    """By a run as it would be chosen for this tolerance."""
    rtol = min(max(rtol, BOUNDS[0]), BOUNDS[1])
    tolerances: dict[str, Any] = {
        "rtol": rtol, "atol": LEAST_SIZE * rtol * run.shortest, "max_steps": run.most_steps
    }  # fmt: skip
    kind, large = Tsitouras5 if rtol >= LOOSE else DormandPrince8, run.dynamics.is_large
    choice = replace(
        run.choice,
        method=kind(**tolerances, watch_stiffness=not large),
        fallback=None if large else Radau(**tolerances),
    )
    return _decided(run, choice, scale, f"by {kind.name} at rtol {rtol:.0e}", rtol)


def _decided(run: _Run, choice: Choice, scale: float, by: str, rtol: float, more_than: int = 0) -> Estimate:
    """The verdict of a companion that sees all of the error, times ``scale``; of another if it took no more steps."""
    try:
        driver = _Companion(run, choice, run.spacing)
        outcome = driver.run()
    except DalembertError as error:  # such as a kernel that a model cannot give
        note = f"it could not be run: {error}"
        return Estimate(np.inf, run.accuracy, np.nan, float(run.times[0]), by, 0, False, note)
    found = _verdict(run, outcome, scale, by, rtol)
    if found.acquitted and outcome.result.steps <= more_than:
        return _by_automatic(run, rtol, 1.0)
    return found


def _verdict(run: _Run, outcome: Outcome, scale: float, by: str, rtol: float) -> Estimate:
    compared = _Compared(run, outcome)
    error = scale * compared.largest if compared.whole else np.inf
    horizon = compared.until(run.accuracy / scale)
    note = "" if compared.whole else compared.trouble
    growth = compared.largest / max(getattr(run.method, "rtol", rtol), rtol)
    return Estimate(error, run.accuracy, growth, horizon, by, compared.evaluations, error <= run.accuracy, note)


class _Compared:
    """Differences of a companion from its run, relative to the size of the motion.

    Attributes:
        difference: at each output that both have, the largest of all entries; infinite from where events part them.
        largest: of all outputs.
        whole: the companion went as far as the run.
    """

    def __init__(self, run: _Run, outcome: Outcome):
        mine, other = run.outcome, outcome
        self.evaluations, self.first = other.result.evaluations, float(run.times[0])
        count = min(int(run.at.searchsorted(len(mine.result.time))), len(other.result.time))
        times = run.times[:count]
        if count and times[-1] > min(mine.result.end, other.result.end):
            count, times = count - 1, times[:-1]
        n = len(run.sizes)
        a, b = mine.result.states[run.at[:count], :n], other.result.states[:count, :n]
        shares = np.abs(a - b) / (run.sizes + run.floor)
        if run.jumping is not None:
            shares[:, run.jumping :] = _lasting(shares[:, run.jumping :])
        difference = shares.max(axis=1, initial=0.0)
        difference[~np.isfinite(difference)] = np.inf
        self.times, self.difference = times, self._events(run, times, difference, mine.events, other.events)
        ended = other.ended_by == mine.ended_by if mine.ended_by else other.result.status == Status.FINISHED
        self.end = float(mine.result.end)
        self.largest = float(self.difference.max(initial=0.0))
        self.whole = ended and self.largest < np.inf
        self._stopped = None if ended else float(other.result.end)

    @property
    def trouble(self) -> str:
        """Why it is not whole, in words."""
        if self._stopped is not None:
            return f"it stopped at t = {self._stopped:.4g} s"
        return f"its events differ from those of the run from t = {self.until(np.finfo(float).max):.4g} s on"

    def until(self, most: float) -> float:
        """The last time before the difference exceeds ``most``."""
        bad = np.flatnonzero(~(self.difference <= most))
        if not len(bad):
            return self.end if self.whole else float(self.times[-1]) if len(self.times) else self.first
        return float(self.times[bad[0] - 1]) if bad[0] else self.first

    @staticmethod
    def _events(
        run: _Run, times: np.ndarray, difference: np.ndarray, mine: Sequence[Occurrence], other: Sequence[Occurrence]
    ) -> np.ndarray:
        """Times of events count as differences too, relative to the duration; between the two times of an event that
        acts, states differ for that reason alone."""
        found, near = difference.copy(), SAME_EVENT * run.span
        for name in sorted({event.name for event in (*mine, *other)}):
            acts, rest = run.acts(name), run.rest_after(name)
            parts = [_until_rest(events, name, rest) for events in (mine, other)]
            if len(parts[0]) != len(parts[1]):
                parts = [_until_rest(events, name, "") for events in (mine, other)]
            for (here, end), (there, other_end) in zip(*parts, strict=True):
                for t1, t2 in zip(here, there, strict=False):
                    first, last = min(t1, t2), max(t1, t2)
                    if acts:
                        found[(times >= first - near) & (times <= last + near)] = 0.0
                    late = times >= first
                    found[late] = np.maximum(found[late], (last - first) / run.span)
                more = here[len(there) :] or there[len(here) :]
                if more and acts:
                    gap = max(near, run.accuracy * run.span)
                    ends = min(run.outcome.result.end, float(times[-1]) if len(times) else run.outcome.result.end)
                    # The last of ever shorter bounces, before a rest that both have, change nothing.
                    if more[0] < min(ends, end if len(here) > len(there) else other_end) - gap:
                        found[times >= more[0]] = np.inf
        return found


def _until_rest(events: Sequence[Occurrence], name: str, rest: str) -> list[tuple[list[float], float]]:
    """Times of an event in each part of a run that a rest ends, and when; the last part has no end."""
    parts: list[tuple[list[float], float]] = []
    times: list[float] = []
    for event in events:
        if event.name == name:
            times.append(event.time)
        elif event.name == rest:
            parts.append((times, event.time))
            times = []
    return [*parts, (times, np.inf)]
