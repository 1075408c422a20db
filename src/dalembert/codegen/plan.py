"""Cutting a long tape into pieces, and the memory that carries values from one piece to the next."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

from dalembert.codegen.tape import Tape

__all__ = ["Plan", "plan_pieces"]


@dataclass(frozen=True)
class Plan:
    """How a tape is cut.

    Attributes:
        pieces: for each piece the instructions first, ..., last - 1.
        slot: value -> slot of the work vector, for the values that a later piece needs.
        n_work: length of the work vector; products have theirs behind it.
        outputs: for each piece the pairs (number of the output, its value) that it stores; where many are zero, those
            are not among them (``Tape.is_sparse``).
        entries: the same for the factors of products: pairs (slot behind the work vector, its value).
    """

    pieces: list[range]
    slot: dict[int, int]
    n_work: int
    outputs: list[list[tuple[int, int]]]
    entries: list[list[tuple[int, int]]]


def plan_pieces(tape: Tape, length: int) -> Plan:
    """Cut a tape into pieces of about ``length`` arithmetic instructions.

    The time of several compiler passes grows faster than the length of a function, so a long tape becomes
    several functions. Inputs and constants are loaded anew in each piece; any other value that
    crosses a cut gets a slot of the work vector, which is reused after the last piece that reads it.
    """
    pieces = _cut(tape, length)
    piece_of = [p for p, piece in enumerate(pieces) for _ in piece]
    last_use: dict[int, int] = {}
    if len(pieces) > 1:
        for k, op in enumerate(tape.ops):
            if op in ("input", "const"):
                continue
            for v in (tape.a[k], tape.b[k]):
                if v >= 0 and piece_of[v] < piece_of[k] and tape.ops[v] not in ("input", "const"):
                    last_use[v] = piece_of[k]
    slot, n_work = _allocate(pieces, last_use)
    outputs: list[list[tuple[int, int]]] = [[] for _ in pieces]
    for i, v in tape.stored:
        outputs[piece_of[v]].append((i, v))
    entries: list[list[tuple[int, int]]] = [[] for _ in pieces]
    for i, v in tape.products.stores:
        entries[piece_of[v]].append((i, v))
    return Plan(pieces, slot, n_work, outputs, entries)


def _cut(tape: Tape, length: int) -> list[range]:
    """Ranges of instructions; what is stored counts as the instructions do."""
    stores = Counter(v for _, v in tape.stored)
    cuts = [0]
    count = 0
    for k, op in enumerate(tape.ops):
        if op == "const":
            continue
        if count >= length:
            cuts.append(k)
            count = 0
        count += stores[k] + (op != "input")
    cuts.append(len(tape.ops))
    return [range(first, last) for first, last in itertools.pairwise(cuts)]


def _allocate(pieces: list[range], last_use: dict[int, int]) -> tuple[dict[int, int], int]:
    """Give each value that crosses a cut a slot that no other value needs in the same pieces."""
    slot: dict[int, int] = {}
    free: list[int] = []
    ends_in: list[list[int]] = [[] for _ in pieces]
    n_work = 0
    for p, piece in enumerate(pieces):
        # A slot read in piece p may be overwritten only from piece p + 1 on.
        if p > 0:
            free.extend(slot[v] for v in ends_in[p - 1])
        for v in piece:
            if v not in last_use:
                continue
            if free:
                slot[v] = free.pop()
            else:
                slot[v] = n_work
                n_work += 1
            ends_in[last_use[v]].append(v)
    return slot, n_work
