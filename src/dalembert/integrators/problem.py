"""What the time loop shares with Python: problem, memory, the step of a method, and the monitor through which it is
watched."""

from __future__ import annotations

import math

import numpy as np

from dalembert.native import Flag, Function, Int, Integers, Matrix, Native, Real, Record, Ref, Vector

__all__ = ["Memory", "Monitor", "NewtonStep", "Problem", "Step", "Stepper"]


class Problem(Record):
    """What is to be integrated: functions, which return 0 if they succeeded, and sizes.

    Attributes:
        size: length of y.
        varying: how many entries of y change within a step; the others do not count in norms of errors. 0: all.
        nq, nv, rows: y = (q, u, rest): lengths of q on its manifold, of u in its tangent space, of multipliers λ.
        n_states, first_state: how many entries of q no δ moves, states and turns of cut joints, and the first of them.
        n_events: how many events there are.
        n_branches: how many of the last events choose branches of formulas: their functions are compared with zero.
        n_rough: behind how many of the last branches nothing leads smoothly on, as where surfaces touch.
        staged: rhs looks at the state on the manifold only: then errors across it do not matter.
        n_straight: n_events if what passes zero at all events changes with y and t along straight lines, else 0.
        slopes: of such events, by how much each entry of y, and t at the end, changes them; the loop finds them.
        n_units, units: n_events and the unit of each event, in which it is rounded; 0: all are everyday ones.
        spacing: longest distance (s) of the places at which a step is compared with the equations; 0: nowhere.
        rhs: (t, y, ẏ): ẏ = f(t, y).
        retract: (t, y, scratch): y back onto its manifold, in place; scratch is as long as y, its first entry becomes
            the quality there. Negative if it succeeded and y means something else from now on: what was remembered of
            former steps is worthless.
        events: (t, y, g): an event happens where one of g rises through zero.
        choose: (branches): 1, −1 or 0 for each of these events, entries for all events: the branch that is taken from
            now on, whatever the sign of the function is; 0: that of its sign.
        imposed: (t, x, out): what constraints and invariants that have branches leave at an output, on the branches of
            now: ``n_places`` of positions, then ``n_speeds`` of velocities. Of these ``retract`` leads all back but the
            last ``n_given``, as those that follow from others.
        decode: (t, y, x): x = (q, u, W), which is what outputs show; None if y is that itself.
        encode: (t, x, y): the way back, in place.
        jacobian: (t, y, J): J = ∂f/∂y.
        exponential: (t, (q, δ), out): q ∘ exp(δ), D(δ) and its inverse, with u = D δ̇.
        residual: (t, (q, u, u̇, λ), out): r = M u̇ − f − Aᵀλ, the constraints φ(q) or A u + b; then their derivatives
            along the tangent of q, by u and by u̇, and A, each row by row.
        multipliers: (t, y, out): u̇ and λ.
        discrete: (t, (q, δ, h), out): momenta before and after the step of a discrete Lagrangian, work done, and the
            derivative of the momentum before.
        impulses: (t, (y, h), out): y at the end of a step in which velocities may jump.
        project: (t, y, out): constraints φ, A, M at (t, q).
        dae: (t, z, F):  B ż = F(t, z), z = (y, algebraic variables), B = diag(1 … 1, 0 … 0).
        dae_jacobian: (t, z, J): J = ∂F/∂z.
        dae_start: (t, z): algebraic variables that fit y, in place.
        dae_size, dae_index: length of z; index of all algebraic variables, 1 or 2.
    """

    size, varying, nq, nv, rows, n_events, n_branches, n_states, first_state, dae_size, dae_index = 11 * Int()
    n_places, n_speeds, n_given, n_rough, n_straight, n_units = 6 * Int()
    staged = Flag()
    spacing = Real()
    slopes = Matrix("n_straight", "size + 1")
    units = Vector("n_units")
    rhs, retract, events, imposed, decode, encode, exponential = 7 * Function(float, Vector, Vector)
    residual, multipliers, discrete, project, impulses, dae = 6 * Function(float, Vector, Vector)
    jacobian, dae_jacobian = 2 * Function(float, Vector, Matrix)
    dae_start = Function(float, Vector)
    choose = Function(Vector)

    @property
    def share(self) -> float:
        """Tolerances times this give norms over the entries of y that vary the right size."""
        return math.sqrt(self.varying / self.size) if self.varying else 1.0

    @property
    def width(self) -> int:
        """How many numbers an output has."""
        return self.nq + self.nv + 1 if self.decode is not None else self.size

    def write(self, t: float, y: np.ndarray, row: np.ndarray) -> None:
        """A state on its manifold becomes an output, from Python; a row of NaN stays so if it cannot be decoded."""
        if self.decode is None:
            row[:] = y
        else:
            self.decode(t, y, row)


class Memory(Record):
    """All that the time loop must remember between two steps; a method adds its own fields.

    Attributes:
        t, h: the time reached, and the step to be tried next.
        written: how many outputs are done.
        steps, rejected, evaluations: counts.
        started: the method has begun.
        event: number of the event that just happened, from 1 on; 0 if none did.
        stiff: how many more steps were limited by stability than were not.
        seen, seen_at: how many steps were tried when the loop last looked whether time passes, and the time then.
        narrow: how many steps were cut because something happens within them that the method did not see.
        cuts: how many of them in a row, just now.
        defect: the largest difference between the solution within a step and the equations, in tolerances.
        segment_start, segment_step, segment_count, segment_index: fixed-step methods divide the way to the next output
            into equal steps.
        y: the state.
        largest: of the absolute values of each entry of y so far.
        g: values of the events.
        before: those at the start of the step.
        branches: which branches of formulas are taken (see ``Problem.choose``); 0 for other events.
        undefined, undefined_at: at how many places of steps each event was no number, and the time of the first one.
        switches, switches_seen, switched_at: how often one changed, how often when the loop last looked whether time
            passes, and the time then.
        shortened: how often in a row a step was cut to end where a branch does behind which nothing leads on.
        bent, bent_at: whether branches changed so far, and the last time that one did.
        nears, bend: whether a branch is known to end, and when, behind which nothing leads on.
        rejections_in_row: steps that were tried again since the last good one.
        jolts: how often velocities had to jump where another branch was taken;  jolt, jolted_at, jolted_by: the largest
            of these jumps, its time, and the number of the event, from 1 on.
        jump, jumped_by: by how much positions, or velocities that follow from others, would have to jump, which ends a
            run, and the number of the event; 0 if none would.
    """

    size, n_events, written, steps, rejected, evaluations, event, stiff, seen, narrow, cuts = 11 * Int()
    segment_count, segment_index, switches, switches_seen, rejections_in_row, shortened = 6 * Int()
    jolts, jolted_by, jumped_by = 3 * Int()
    t, h, seen_at, switched_at, bent_at, bend, defect, segment_start, segment_step, jolt, jolted_at, jump = 12 * Real()
    started, bent, nears = 3 * Flag()
    y, largest = 2 * Vector("size")
    g, before, branches, undefined_at = 4 * Vector("n_events")
    undefined = Integers("n_events")


class Step(Record):
    """One step from (t, y) of the memory, as the loop wants it and a method takes it; a method adds its working space.

    Options:
        more_powers: of θ in the solution within a step, beyond the third.
        fixed: longest step of a method with fixed steps; 0 if it chooses its steps, the next one in ``Memory.h``.
        stretch: a step that would meet the end of the run if it were longer by this, relative, ends there.
        max_steps: most steps before the run is given up.
        watch: end the run when it turns out stiff.
        rtol, atol: local error allowed, relative and absolute, of a method that chooses its steps.
        lenient: it takes larger errors, as its estimate has a lower order than the method: of smooth motion only.
        guard: a step is cut, though the method found it good, if the solution within it misses the equations by more
            than so many tolerances; 0: never.

    Set by the loop:
        h, t_new: length and end of the step.
        last: it ends the run.

    Set by a method, or by the loop for it:
        new: y at the end of the step.
        landed: new is back on its manifold, and ``retracted`` what ``Problem.retract`` returned.
        limited: stability, not accuracy, limits the step.
        D: the solution within the step, y(t + θh) = Σ D[p] θᵖ.
        scratch: room for anybody.
    """

    size, more_powers, max_steps, retracted = 4 * Int()
    fixed, stretch, rtol, atol, guard, h, t_new = 7 * Real()
    watch, last, landed, limited, lenient = 5 * Flag()
    problem = Ref(Problem)
    new, scratch = 2 * Vector("size")
    D = Matrix("4 + more_powers", "size")


class NewtonStep(Step):
    """A step that Newton's method finds: lengths of q, u and λ, q ∘ exp(δ) with D and its inverse, and the matrix that
    becomes its factors."""

    nq, nv, rows = 3 * Int()
    moved = Vector("nq + 2 * nv * nv")
    S = Matrix("nv + rows", "nv + rows")
    pivots = Integers("nv + rows")


class Stepper(Record):
    """A method: native functions bound to its step. They return a status of ``loop``, GO_ON if all is well.

    Attributes:
        current: the step, which they share with the loop.
        begin: at the start of a run: what the memory needs, and a first step.
        step: one try from (t, y) to ``new``. REJECTED: try again with the length that is now in ``Memory.h``.
        interpolate: D; asked for only where an output or an event may fall within the step. None: a cubic.
        go_on: after a step that nothing ended: what the next one needs.
    """

    current = Ref(Step)
    begin, step, interpolate, go_on = 4 * Function()

    @classmethod
    def of(cls, current: Step, /, **functions: Native) -> Stepper:
        """Native functions of a step, by what they do."""
        return cls(current=current, **{name: function.bind(current) for name, function in functions.items()})


class Monitor(Record):
    """Shared with the caller while a loop runs.

    Attributes:
        reached: the time reached so far.
        request: what the caller asks for: ``loop.STOP``, ``loop.PAUSE``, or 0.
        pause_at: the loop pauses by itself when it has tried so many steps; 0: never.
    """

    reached = Real()
    request, pause_at = 2 * Int()
