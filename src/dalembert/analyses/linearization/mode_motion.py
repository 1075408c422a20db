"""A mode as a motion that can be looked at: the mechanism swings, its loops stay closed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.analyses.assembly.rank import RANK_TOLERANCE, Positions
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError
from dalembert.state import State
from dalembert.trajectory.record import quaternions

__all__ = ["ModeMotion"]

FRAMES = 81
CYCLES = 2
REACH = 0.3  # of the largest coordinate (rad or m)
SECONDS = 4.0  # shown for a mode that does not oscillate


class ModeMotion:
    """Positions of all bodies while a mechanism moves along one mode, as pictures of runs ask for them.

    Args:
        dynamics: in relative coordinates.
        state: the reference.
        shape: change of position along the tangent, complex.
        eigenvalue: λ; growth and decay are not shown.
        release: constraints that do not act.
    """

    def __init__(
        self, dynamics: Dynamics, state: State, shape: np.ndarray, eigenvalue: complex, release: Sequence[str] = ()
    ):
        if dynamics.coordinates.name != "relative":
            raise DalembertError("a mode is shown in relative coordinates.  Fix: linearize the model itself")
        self.dynamics, self.segments = dynamics, [(0, state.parameters)]
        size = np.abs(shape).max(initial=0.0)
        if not size > 0:
            raise DalembertError("nothing changes its place in this mode")
        omega = eigenvalue.imag or 2 * np.pi / SECONDS * CYCLES
        time = np.linspace(0, CYCLES * 2 * np.pi / omega, FRAMES)
        positions = Positions(dynamics, state)
        held = [i for i in positions.holonomic if dynamics.rows[i].owner not in release]
        positions.holonomic = held
        rank = np.linalg.matrix_rank(positions.residual(state.q)[1][held], tol=RANK_TOLERANCE) if held else 0
        q: list[np.ndarray] = []
        for t in time:
            moved = positions.moved(state.q, np.real(REACH / size * shape * np.exp(1j * (omega * t - np.pi / 2))))
            closed = positions.settle(moved, int(rank)) if rank else moved
            q.append(moved if closed is None else closed)
        seen = dynamics.observe(state.time, np.array(q), np.zeros((len(q), dynamics.nv)), state.parameters)
        pose = np.asarray(seen.pose).reshape(len(q), -1, 12)
        self._values = {
            "time": time, "position": pose[..., 9:],
            "orientation": quaternions(pose[..., :9].reshape(len(q), -1, 3, 3)),
            "body": np.array(dynamics.coordinates.bodies),
        }  # fmt: skip

    def values(self, name: str) -> np.ndarray:
        """``time``, ``position``, ``orientation`` or ``body``."""
        return self._values[name]

    def animate(self, path: str | Path, facts: dict[str, str]) -> Path:
        """One self-contained HTML file."""
        from dalembert.view import write_html
        from dalembert.view.run_scene import moving_scene

        moving: Any = self
        return write_html(moving_scene(moving, [], facts), path)
