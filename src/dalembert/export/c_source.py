"""Stand-alone C99 of a run: equations, solver, time loop, assembly and events, with static memory only."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.atomic import make_folder, write_atomic
from dalembert.errors import DalembertError
from dalembert.export.c_functions import CText, c_name
from dalembert.export.native_run import Live, evaluate_rates, run_live
from dalembert.native import Native, Record
from dalembert.native.arena import SLOTS, arena
from dalembert.native.image import Image
from dalembert.native.targets import Program
from dalembert.native.types import FLOAT, Type, parts_of, vector
from dalembert.view.page import asset

__all__ = [
    "CProgram", "Shown", "arena_needed", "c_body", "c_memory", "c_remark", "c_source", "run_program",
    "write_c_program",
]  # fmt: skip

_ROOM = "dalembert.export"
LEAST_ARENA = 1 << 14  # bytes
COMPARED = 20  # outputs of the stored run that ``main`` compares
_ALIGNMENT = 64


@dataclass(frozen=True)
class Shown:
    """What the header names.

    Attributes:
        title: of the model.
        parameters, states: names of the parameters, and of the entries of a state.
        how: method and formulation, in words.
    """

    title: str
    parameters: list[str]
    states: list[str]
    how: str


class CProgram:
    """The memory of a record and functions of it, for C.

    Args:
        root: the record, as it stands before it is first used.
        entries: functions of it by name, and the types of their further arguments; each returns one number.
        arena_bytes: memory for arrays of native functions.
    """

    def __init__(self, root: Record, entries: Mapping[str, tuple[Native, tuple[Type, ...]]], arena_bytes: int):
        self.root = root
        self.program = program = Program()
        first, _ = next(iter(entries.values()))
        self.image = Image(program, first, (root,))
        for name, (function, more) in entries.items():
            assert len(parts_of(program.entry(name, function, (*self.image.kinds, *more)))) == 1
        self.entries = list(entries)
        self.end = _ALIGNMENT  # address 0 is nowhere
        self.image.place(self._allocate)
        self.arena, self.io = self._allocate(8 * SLOTS), self._allocate(8 * 16)
        self.chunk = self._allocate(arena_bytes)
        self.data = bytearray(self.chunk)
        self.image.copy_in(self._write, program.numbers)

    @cached_property
    def code(self) -> CText:
        return CText(self.program.units(), self.program.numbers)

    def _allocate(self, size: int) -> int:
        at, self.end = self.end, -(-(self.end + size) // _ALIGNMENT) * _ALIGNMENT
        return at

    def _write(self, address: int, data: bytes) -> None:
        self.data[address : address + len(data)] = data

    def address(self, value: Any) -> int:
        """Where an array or a record begins."""
        return self.image.there(value.ctypes.data if hasattr(value, "ctypes") else value.address)

    def field(self, record: Record, name: str) -> int:
        """Where a number of a record lies."""
        return self.address(record) + 8 * record.slot_of[name]

    def links(self) -> list[tuple[int, int]]:
        """Where addresses lie, and what they are."""
        more = [(self.arena, self.chunk), (self.arena + 8, self.end), (self.io, self.arena),
                (self.io + 8, self.address(self.root))]  # fmt: skip
        return [*self.image.links(), *more]

    def words(self) -> tuple[list[int], list[tuple[int, int]]]:
        """The words that are not zero, and (first, count) of their runs; addresses are left out."""
        words = np.frombuffer(bytes(self.data), dtype=np.uint64).copy()
        words[[place // 8 for place, _ in self.links()]] = 0
        at = np.flatnonzero(words)
        runs: list[tuple[int, int]] = []
        for index in at.tolist():
            if runs and runs[-1][0] + runs[-1][1] == index:
                runs[-1] = (runs[-1][0], runs[-1][1] + 1)
            else:
                runs.append((index, 1))
        return [int(word) for word in words[at]], runs


def arena_needed(function: Native, *args: Any) -> int:
    """Run it once here; bytes that it took for arrays, with some to spare."""
    arena.paint()
    function(*args)
    return max(LEAST_ARENA, 2 * arena.used())


def run_program(live: Live, arena_bytes: int) -> CProgram:
    """Whole runs, and the right-hand side by itself."""
    entries: dict[str, tuple[Native, tuple[Type, ...]]] = {
        "run": (run_live, ()),
        "rates": (evaluate_rates, (FLOAT, vector(), vector())),
    }
    return CProgram(live, entries, arena_bytes)


def write_c_program(folder: Path, name: str, program: CProgram, reference: np.ndarray, shown: Shown) -> list[Path]:
    """Write ``name.h``, ``name.c`` and ``main.c``.

    Args:
        reference: states of the stored run, one row for each output.
    """
    if not name.isidentifier() or not name.isascii():
        raise DalembertError(f"name must be a C identifier, got {name!r}.  Fix: e.g. name='mechanism'")
    make_folder(folder)
    texts = {
        f"{name}.h": _header(name, program, shown),
        f"{name}.c": c_source(name, program, shown),
        "main.c": _main(name, program, reference, shown),
    }
    return [write_atomic(folder / file, text, DalembertError) for file, text in texts.items()]


def c_remark(text: str) -> str:
    """Untrusted text within a remark of C: nothing that could end it, begin another, or join lines."""
    return re.sub(r"[^\w .,:;()\[\]{}=+-]", "?", text, flags=re.ASCII)


def _names(names: list[str], prefix: str) -> list[str]:
    """Identifiers, each once."""
    found: list[str] = []
    for k, one in enumerate(names):
        plain = f"{prefix}_{c_name(c_remark(one).replace('?', '_'))}"
        found.append(plain if plain not in found else f"{plain}_{k}")
    return found


def _header(name: str, program: CProgram, shown: Shown) -> str:
    live, big = _live(program), name.upper()
    parameters = _names(shown.parameters, f"{big}_P")
    listed = "\n".join(f"    {one} = {k}, /* {c_remark(shown.parameters[k])} */" for k, one in enumerate(parameters))
    states = "\n".join(f"   {k:3d}  {c_remark(one)}" for k, one in enumerate(shown.states))
    return f"""/* {c_remark(shown.title)}: {c_remark(shown.how)}. Written by dalembert.

   C99, nothing but math.h, string.h and stdlib.h (abort). No memory is allocated: {program.end} bytes are static.
   Build with -std=c99, so that operations are not contracted:  cc -std=c99 -O2 main.c {name}.c -lm

   A state:
{states}
*/
#ifndef {big}_H
#define {big}_H

#define {big}_OUTPUTS {live.n_times}
#define {big}_STATE {live.nx}
#define {big}_PARAMETERS {len(parameters)}

enum {{
{listed}
    {big}_P_COUNT = {len(parameters)}
}};

/* All numbers as they were written; call it before every run. */
void {name}_reset(void);

/* The parameters, which may be changed after a reset. */
double *{name}_parameters(void);

/* A whole run: assembly, time loop, events. 0: it reached its end. */
int {name}_run(void);

/* After a run: how many outputs there are, their times, and the states, {live.nx} numbers each. */
int {name}_outputs(void);
const double *{name}_times(void);
const double *{name}_states(void);

/* The right-hand side: rates of a state at time t; 0 if they could be found. */
int {name}_rates(double t, const double *state, double *rates);

#endif
"""


def _rows(items: list[str], each: int) -> str:
    return ",\n".join("    " + ", ".join(items[i : i + each]) for i in range(0, len(items), each))


# There is no memory besides that of the file: what does not fit ends the program.
HEAPLESS = """static inline char *dalembert_malloc(int64_t n) { (void)n; return NULL; }
static inline void dalembert_free(char *p) { (void)p; }
"""


def c_body(program: CProgram, allocation: str) -> str:
    """Functions, and how their memory begins: ``fill(begin)`` writes all of it, ``relink(begin)`` its addresses.

    Args:
        allocation: C of ``dalembert_malloc`` and ``dalembert_free``.
    """
    return f"{asset(_ROOM, 'runtime.h.txt')}\n{allocation}\n{program.code.source(program.entries)}\n{c_memory(program)}"


def c_memory(program: CProgram) -> str:
    """How the memory begins."""
    words, runs = program.words()
    links = [f"{place}u, {what}u" for place, what in program.links()]
    parts = [f"{first}u, {count}u" for first, count in runs]
    return f"""
/* -- memory ------------------------------------------------------------------------------------------------------ */

static const uint64_t words[{len(words)}] = {{
{_rows([f"{word:#x}u" if word < 1 << 31 else f"UINT64_C({word:#x})" for word in words], 6)}
}};

/* First word and number of words of each piece that is not zero. */
static const uint32_t pieces[{2 * len(runs)}] = {{
{_rows(parts, 8)}
}};

/* Where addresses lie, and what they are. */
static const uint32_t links[{2 * len(links)}] = {{
{_rows(links, 8)}
}};

static void relink(char *begin) {{
    size_t k;
    for (k = 0; k < sizeof links / sizeof *links; k += 2) store_ptr(begin + links[k], begin + links[k + 1]);
}}

static void fill(char *begin) {{
    const uint64_t *next = words;
    size_t k;
    memset(begin, 0, {program.end});
    for (k = 0; k < sizeof pieces / sizeof *pieces; k += 2) {{
        memcpy(begin + 8 * (size_t)pieces[k], next, 8 * (size_t)pieces[k + 1]);
        next += pieces[k + 1];
    }}
    relink(begin);
}}
"""


def _live(program: CProgram) -> Live:
    assert isinstance(program.root, Live)
    return program.root


def c_source(name: str, program: CProgram, shown: Shown, body: str = "") -> str:
    """The functions of the header; ``body``: what they need, if it is not the translated code."""
    live = _live(program)
    written = program.field(live, "written")
    return f"""/* {c_remark(shown.title)}. Written by dalembert; see {name}.h. */
#include "{name}.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

{body or c_body(program, HEAPLESS)}
static double memory[{program.end // 8}];

void {name}_reset(void) {{ fill((char *)memory); }}

double *{name}_parameters(void) {{ return memory + {program.address(live.start.parameters) // 8}; }}
const double *{name}_times(void) {{ return memory + {program.address(live.watch.time) // 8}; }}
const double *{name}_states(void) {{ return memory + {program.address(live.states) // 8}; }}
int {name}_outputs(void) {{ return (int)load_i64((char *)memory + {written}); }}

int {name}_run(void) {{
    char *const io = (char *)memory + {program.io};
    run(io);
    return (int)load_i64(io + 16);
}}

int {name}_rates(double t, const double *state, double *rate) {{
    char *const io = (char *)memory + {program.io};
    double here[{2 * live.nx}];
    memcpy(here, state, {live.nx} * sizeof *state);
    store_f64(io + 16, t);
    store_ptr(io + 24, (char *)here);
    store_i64(io + 32, {live.nx});
    store_ptr(io + 40, (char *)(here + {live.nx}));
    store_i64(io + 48, {live.nx});
    rates(io);
    memcpy(rate, here + {live.nx}, {live.nx} * sizeof *rate);
    return (int)load_i64(io + 56);
}}
"""


def _main(name: str, program: CProgram, reference: np.ndarray, shown: Shown) -> str:
    rows = np.unique(np.linspace(0, len(reference) - 1, min(COMPARED, len(reference))).round().astype(int))
    numbers = _rows([struct.unpack("<d", struct.pack("<d", x))[0].hex() for x in reference[rows].ravel().tolist()], 4)
    return f"""/* Makes the stored run of {c_remark(shown.title)} again and compares. Written by dalembert. */
#include "{name}.h"
#include <math.h>
#include <stdio.h>

#define ROWS {len(rows)}

static const int rows[ROWS] = {{{", ".join(map(str, rows.tolist()))}}};
static const double stored[ROWS * {name.upper()}_STATE] = {{
{numbers}
}};

int main(void) {{
    double worst = 0.0, size = 1.0;
    int i, k, status;
    {name}_reset();
    status = {name}_run();
    for (i = 0; i < ROWS; i++) {{
        const double *state = {name}_states() + (long)rows[i] * {name.upper()}_STATE;
        for (k = 0; k < {name.upper()}_STATE; k++) {{
            const double wanted = stored[i * {name.upper()}_STATE + k];
            const double off = fabs(state[k] - wanted);
            if (fabs(wanted) > size) size = fabs(wanted);
            if (!(off <= worst)) worst = off;
        }}
    }}
    printf("status %d, %d outputs, off by %.3g\\n", status, {name}_outputs(), worst);
    return status == {_live(program).status} && worst <= 1e-12 * size ? 0 : 1;
}}
"""
