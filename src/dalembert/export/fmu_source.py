"""C99 of an FMU: the native functions of a device, their memory for each instance, and the functions of FMI."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from dalembert.export import native_device as ops
from dalembert.export.c_source import CProgram, c_body
from dalembert.export.native_device import Device, serve
from dalembert.export.native_run import ACTED, NO_START
from dalembert.native.types import INT
from dalembert.view.page import asset

__all__ = ["Ending", "Variable", "device_program", "fmu_source"]

_ROOM = "dalembert.export"
KINDS = ("parameter", "input", "start", "state", "rate", "indicator", "output")

# Arrays beyond the arena come from the heap: an FMU must not end the program of its importer.
_HEAP = """static char *dalembert_malloc(int64_t n) { return (char *)malloc((size_t)n); }
static void dalembert_free(char *p) { free(p); }
"""

# Functions are visible from outside; where several FMUs are linked into one program, their names begin with a prefix.
_VISIBLE = """#if defined(_WIN32)
#define API __declspec(dllexport)
#elif defined(__GNUC__)
#define API __attribute__((visibility("default")))
#else
#define API
#endif
#define JOIN_NAMES(a, b) a##b
#define JOINED(a, b) JOIN_NAMES(a, b)
#ifdef {prefix}
#define NAME(name) JOINED({prefix}, name)
#else
#define NAME(name) name
#endif
"""


@dataclass(frozen=True)
class Variable:
    """A number that importers see: its name, its kind (one of ``KINDS``), its address, its value at the start, what it
    is, its unit, the addresses that become 1 when it is set, and for rates the number of the state from 0 on."""

    name: str
    kind: str
    address: int
    value: float
    about: str
    unit: str = ""
    masks: tuple[int, ...] = ()
    of: int = -1


@dataclass(frozen=True)
class Ending:
    """What is said where a request ends with ``status``; ``reason``: only for this one, −1 for all."""

    status: int
    reason: int
    text: str


def _quoted(text: str) -> str:
    """Text as C writes it."""
    plain = re.sub(r"[^ -~]", "?", text)
    return '"' + re.sub(r'(["\\\\])', r"\\\1", plain) + '"'


def device_program(device: Device, arena_bytes: int) -> CProgram:
    """A device as C."""
    return CProgram(device, {"serve": (serve, (INT,))}, arena_bytes)


def fmu_source(program: CProgram, variables: list[Variable], endings: list[Ending], version: int, exchange: Any) -> str:
    """The whole file but for its token, which importers hand over to show that description and code belong together.

    Args:
        version: of FMI, 2 or 3.
        exchange: context of the equations for Model Exchange.
    """
    d = program.root
    assert isinstance(d, Device)
    places = {
        "BYTES": program.end, "IO": program.io, "VARIABLES": len(variables), "STATES": d.n_states,
        "INDICATORS": d.n_indicators, "OVER": ops.OVER, "NO_START": NO_START, "ACTED": ACTED,
        "TIME": program.field(d, "time"), "TARGET": program.field(d, "target"), "CHANGED": program.field(d, "changed"),
        "AGAIN": program.field(d, "again"), "EXCHANGE": program.field(d, "exchange"),
        "STATES_AT": program.address(d.states), "RATES_AT": program.address(d.rates),
        "INDICATORS_AT": program.address(d.indicators) if d.n_indicators else 0,
        "REACTION": program.field(d.live, "reaction"),
        "LIVE_FAILURE": program.field(d.live.context.statistics, "failure"),
        "EXCHANGE_FAILURE": program.field(exchange.statistics, "failure"),
    }  # fmt: skip
    defined = "\n".join(f"#define FMU_{name} {value}" for name, value in places.items())
    rows = ",\n".join(
        f"    {{{v.address}u, {KINDS.index(v.kind)}u, {{{', '.join(f'{m}u' for m in (*v.masks, 0, 0, 0)[:3])}}}}}"
        for v in variables
    )
    said = ",\n".join(f"    {{{e.status}, {e.reason}, {_quoted(e.text)}}}" for e in endings)
    return f"""/* A functional mock-up unit, FMI {version}.0. Written by dalembert. C99. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

{_VISIBLE.format(prefix=f"FMI{version}_FUNCTION_PREFIX")}
{c_body(program, _HEAP)}
#define FMU_TOKEN ""
{defined}

static const struct variable {{
    uint32_t at, kind, mask[3];
}} variables[] = {{
{rows}
}};

static const struct {{
    int status, reason;
    const char *text;
}} endings[] = {{
{said}
}};

{asset(_ROOM, "fmu_core.c.txt")}

{asset(_ROOM, f"fmi{version}.c.txt")}
"""
