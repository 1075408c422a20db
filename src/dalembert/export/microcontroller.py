"""Objects for micro-controllers: the machine code of a run, the C that holds its memory, and what both need."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dalembert.atomic import write_atomic
from dalembert.errors import DalembertError, check_known
from dalembert.export.c_source import CProgram, Shown, c_memory, c_remark, c_source
from dalembert.native.targets import MICROCONTROLLERS
from dalembert.view.page import asset

__all__ = ["check_processors", "section_sizes", "write_objects"]

_ALLOCATED, _NOTHING_STORED, _EXECUTABLE, _WRITABLE = 2, 8, 4, 1
LISTED = 8  # functions that a report names


def check_processors(given: str | Sequence[str]) -> list[str]:
    """Names of processors, each once."""
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        check_known("processors: unknown", name, MICROCONTROLLERS, "there are")
    return list(dict.fromkeys(names))


def write_objects(folder: Path, name: str, program: CProgram, shown: Shown, processors: list[str]) -> list[Path]:
    """``name_object.c``, and for each processor ``name.PROCESSOR.o`` and ``name.PROCESSOR.txt``."""
    if not processors:
        return []
    code = program.program
    code.prefix = _own(name)
    found = [write_atomic(folder / f"{name}_object.c", _source(name, program, shown), DalembertError)]
    for processor in processors:
        target = MICROCONTROLLERS[processor]
        module, machine = code.module(target), target.machine()
        copy = module.clone()  # code generation changes what it works on
        data = machine.emit_object(module)
        report = _report(name, program, shown, processor, data, machine.emit_assembly(copy))
        found.append(write_atomic(folder / f"{name}.{processor}.o", data, DalembertError))
        found.append(write_atomic(folder / f"{name}.{processor}.txt", report, DalembertError))
    return found


def _own(name: str) -> str:
    """How the names of the object begin; those of the header begin with the name itself."""
    return f"{name}_native"


def _source(name: str, program: CProgram, shown: Shown) -> str:
    """The functions of the header, for machine code in an object."""
    calls, own = program.image.calls(program.program.numbers), _own(name)
    places = ", ".join(f"{place}u, {number - 1}u" for place, number in calls)
    memory = c_memory(program).replace("static void fill(", "static void fill_data(")
    runtime = asset("dalembert.export", "runtime.h.txt").splitlines()
    used = "\n".join(line for line in runtime if re.search(r"\b(load_i64|store_f64|store_i64|store_ptr)\(", line))
    body = f"""{used}
/* Machine code: link {name}.PROCESSOR.o. */
extern void {own}_run(char *io);
extern void {own}_rates(char *io);
extern void *const {own}_table[];
char *{own}_malloc(int64_t n);
void {own}_free(char *p);

/* There is no memory besides that of this file: what does not fit ends the program. */
char *{own}_malloc(int64_t n) {{ (void)n; return NULL; }}
void {own}_free(char *p) {{ (void)p; }}

#define run {own}_run
#define rates {own}_rates
{memory}
/* Where functions are referred to, and their numbers. */
static const uint32_t calls[{2 * len(calls)}] = {{{places}}};

static void fill(char *begin) {{
    const uint32_t *k;
    fill_data(begin);
    for (k = calls; k < calls + {2 * len(calls)}; k += 2) store_ptr(begin + k[0], (char *){own}_table[k[1]]);
}}
"""
    return c_source(name, program, shown, body)


def section_sizes(data: bytes) -> dict[str, int]:
    """Bytes of machine code, of constants and of variables in an ELF object of 32 bits."""
    start, (size, count) = struct.unpack_from("<I", data, 32)[0], struct.unpack_from("<HH", data, 46)
    sizes = {"code": 0, "constants": 0, "variables": 0}
    for k in range(count):
        _, kind, flags, _, _, length = struct.unpack_from("<6I", data, start + size * k)
        if flags & _ALLOCATED:
            executable, writable = flags & _EXECUTABLE, flags & _WRITABLE or kind == _NOTHING_STORED
            sizes["code" if executable else "variables" if writable else "constants"] += length
    return sizes


def _instructions(assembly: str) -> tuple[Counter[str], Counter[str]]:
    """Instructions of each function, and calls of functions that the object does not have."""
    counted: Counter[str] = Counter()
    called: Counter[str] = Counter()
    own, now = set(re.findall(r"^(?:\.thumb_set\s+)?([A-Za-z_$][\w.$]*)[:,]", assembly, flags=re.M)), ""
    for line in assembly.splitlines():
        if label := re.match(r"([A-Za-z_$][\w.$]*):", line):
            now = label[1]
        elif re.match(r"\s+[a-z]", line) and now:
            counted[now] += 1
            if (call := re.match(r"\s+bl?\s+([A-Za-z_]\w*)", line)) and call[1] not in own:
                called[call[1]] += 1
    return counted, called


def _report(name: str, program: CProgram, shown: Shown, processor: str, data: bytes, assembly: str) -> str:
    sizes = section_sizes(data)
    counted, called = _instructions(assembly)
    words, runs = program.words()
    image = (
        8 * len(words) + 8 * (len(runs) + len(program.links())) + 8 * len(program.image.calls(program.program.numbers))
    )
    listed = [f"  {count:8d}  {c_remark(one)}" for one, count in counted.most_common(LISTED)]
    needs = [f"  {count:8d}  {one}" for one, count in sorted(called.items())]
    return "\n".join(
        [
            f"{c_remark(shown.title)}: {c_remark(shown.how)}, for {processor}",
            "",
            "Memory (bytes)",
            f"  {sizes['code']:8d}  machine code, in flash",
            f"  {sizes['constants'] + image:8d}  constants, in flash; {image} of them are the start of the memory",
            f"  {sizes['variables'] + program.end:8d}  variables, in RAM, nothing is allocated",
            "",
            f"Instructions: {sum(counted.values())} in {len(counted)} functions, the largest",
            *listed,
            "",
            "Called from the compiler's library, by number of places",
            *(needs or ["         none"]),
            "",
            f"Link {name}.{processor}.o with {name}_object.c, compiled for the same processor.",
            "",
        ]
    )
