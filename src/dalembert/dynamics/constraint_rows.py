"""The constraint equations of a model, as the compiled equations count them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

from dalembert.equations import Level, Row

__all__ = ["Rows"]


class Rows(Sequence[Row]):
    """Who imposes each constraint equation, holonomic ones first.

    Attributes:
        holonomic: number of those at position level.
        held: rank of A and of its holonomic rows by parameters (as bytes), of over-constrained mechanisms whose
            redundant equations look independent where the position is a little off.
    """

    def __init__(self, rows: Iterable[Row] = ()):
        self._rows = tuple(rows)
        self.holonomic = sum(row.holonomic for row in self._rows)
        self.held: dict[bytes, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, at: int | slice) -> Row | tuple[Row, ...]:
        return self._rows[at]

    def __repr__(self) -> str:
        return f"<{len(self)} constraint equations: {', '.join(map(str, self)) or 'none'}>"

    def owners(self, level: Level | None = None) -> list[str]:
        """Joints, constraints and bodies that impose equations, each once; those at one level, if that is given."""
        return list(dict.fromkeys(row.owner for row in self._rows if level is None or row.level == level))

    def of(self, owners: Iterable[str]) -> list[int]:
        """Numbers of the rows that some owners impose."""
        wanted = set(owners)
        return [i for i, row in enumerate(self._rows) if row.owner in wanted]
