"""Files as an attacker or a broken disk would leave them: whole ones changed byte by byte, or in their structure."""

from __future__ import annotations

import copy
import json
import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dalembert.fuzz import seed_files
from dalembert.fuzz.random_mechanisms import random_model
from dalembert.model.document import to_document
from dalembert.netcdf import read_sealed, write_sealed
from dalembert.values import DICT, LIST

__all__ = ["FORMATS", "hostile_file"]

TOKENS = (
    b"", b"0", b"-1", b"1e999", b"nan", b"inf", b"9" * 400, b"[", b"]" * 50, b"{", b"}", b":", b"- ", b"&a", b"*a",
    b"!!", b"<", b"/>", b"<!DOCTYPE", b"&amp;", b"\x00", b"\xff\xfe", b"\xf0\x9f\x92\xa9", b"\n", b"\t", b'"', b"'",
    b"**", b"9**9**9", b"sin(", b")" * 40, b"__import__('os')", b"ground", b"x" * 5000, b"(" * 200, b"if", b"else",
    b"1/0", b"\\", b"%",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 10**400, 1e308, -1e308, 1e-320, float("nan"), float("inf"), "", "a", "t", "q(j0)",
    "ground", "world", "revolute", "free", "1/0", "9**9**9", "\x1b[31m", "x" * 3000, [], {}, [[]], [0, 0, 0],
    [1, 2, 3, 4, 5, 6, 7],
    {"name": "b"}, ["a", None], "b0", "j0", "x(b0)", "min(q(j0), t)", "1 if t > 1 else 2", [0, 0, "t"],
    [1e308, 1e308, 1e308],
)  # fmt: skip
NUMBERS = (
    "", "0", "-1", "1e99", "1e308", "1e-320", "nan", "1 2 3 4 5 6 7", "0 0 0 0", "a", "ground", "world", "free", "-0",
    "1e999",
)  # fmt: skip


def hostile_file(kind: str, seed: int) -> tuple[bytes, int]:
    """Content of a damaged file of this format, and which whole file it was made of."""
    rng = np.random.default_rng([seed, 3])
    number = int(rng.integers(12))
    return FORMATS[kind](rng, number), number


# Byte by byte


def _bytewise(content: bytes, rng: np.random.Generator) -> bytes:
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(data) + 1))
        length = int(min(len(data) - at, rng.choice([1, 2, 8, 64, 1000])))
        which = rng.integers(7)
        if which == 0 and at < len(data):
            data[at] ^= 1 << int(rng.integers(8))
        elif which == 1:
            data[at : at + length] = b""
        elif which == 2:
            data[at:at] = data[at : at + length]
        elif which == 3:
            data[at:at] = TOKENS[rng.integers(len(TOKENS))]
        elif which == 4:
            data[at : at + length] = rng.bytes(length)
        elif which == 5:
            data[at : at + length] = TOKENS[rng.integers(len(TOKENS))]
        else:
            del data[at:]
        if not data:
            break
    return bytes(data)


# Documents


def _places(data: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    keys: list[Any] = list(data) if isinstance(data, DICT) else list(range(len(data))) if isinstance(data, LIST) else []
    return [(data, key) for key in keys] + [place for key in keys for place in _places(data[key])]


def _changed(document: Any, rng: np.random.Generator) -> Any:
    """A document with values replaced, removed, doubled, renamed or put elsewhere."""
    document = copy.deepcopy(document)
    for _ in range(int(rng.integers(1, 4))):
        places = _places(document)
        if not places:
            return document
        container, key = places[rng.integers(len(places))]
        which = rng.integers(6)
        if which <= 2:
            container[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
        elif which == 3:
            del container[key]
        elif which == 4:
            other, there = places[rng.integers(len(places))]
            container[key] = copy.deepcopy(other[there])
        elif isinstance(container, LIST):
            container.insert(key, copy.deepcopy(container[key]))
        else:
            container[str(key)[: int(rng.integers(3))]] = container.pop(key)
    return document


def _yaml(rng: np.random.Generator, number: int) -> bytes:
    if rng.random() < 0.4:
        return _bytewise(seed_files.yaml_text(rng).encode(), rng)
    document = to_document(random_model(int(rng.integers(1 << 30))))
    return json.dumps(_changed(document, rng), default=str, ensure_ascii=bool(rng.random() < 0.5)).encode(
        errors="surrogatepass"
    )


def _planar(rng: np.random.Generator, number: int) -> bytes:
    document = seed_files.planar_document(rng)
    if rng.random() < 0.3:
        return _bytewise(json.dumps(document).encode(), rng)
    return json.dumps(_changed(document, rng), default=str).encode(errors="surrogatepass")


def _table(rng: np.random.Generator, number: int) -> bytes:
    return _bytewise(seed_files.table_text(rng).encode(), rng)


# XML


def _xml(make: Callable[[np.random.Generator], str], rng: np.random.Generator, number: int) -> bytes:
    text = make(rng)
    if rng.random() < 0.4:
        return _bytewise(text.encode(), rng)
    for _ in range(int(rng.integers(1, 4))):
        attributes = list(re.finditer(r'="([^"]*)"', text))
        elements = list(re.finditer(r"<\w[\w:]*[^>]*/>", text))
        if not attributes or not elements:
            break
        at, element = attributes[rng.integers(len(attributes))], elements[rng.integers(len(elements))]
        which = rng.integers(5)
        if which <= 1:
            text = text[: at.start(1)] + NUMBERS[rng.integers(len(NUMBERS))] + text[at.end(1) :]
        elif which == 2:
            other = attributes[rng.integers(len(attributes))].group(1)
            text = text[: at.start(1)] + other + text[at.end(1) :]
        elif which == 3:
            text = text[: element.start()] + element.group() * int(rng.choice([0, 2, 3])) + text[element.end() :]
        else:
            other = elements[rng.integers(len(elements))].group()
            text = text[: element.start()] + other + text[element.end() :]
    return text.encode()


# Formulas


def _formula(rng: np.random.Generator, number: int) -> bytes:
    text = seed_files.formula_text(rng)
    return _bytewise(text.encode(), rng) if rng.random() < 0.6 else text.encode()


# Results and checkpoints: also with a new seal, so that what lies behind it is reached


def _netcdf(make: Callable[[int], bytes], rng: np.random.Generator, number: int) -> bytes:
    content = make(number % 4)
    if rng.random() < 0.35:
        return _bytewise(content, rng)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what writes nonsense
        path = Path(folder) / "whole.nc"
        path.write_bytes(content)
        data, _ = read_sealed(path)
        for _ in range(int(rng.integers(1, 4))):
            data = _changed_data(data, rng)
        try:
            return write_sealed(Path(folder) / "changed.nc", data).read_bytes()
        except Exception:  # what cannot even be written attacks nobody
            return _bytewise(content, rng)


def _changed_data(data: Any, rng: np.random.Generator) -> Any:
    """A data set with attributes, variables or dimensions changed."""
    which = rng.integers(5)
    if which <= 1 and data.attrs:
        name = list(data.attrs)[rng.integers(len(data.attrs))]
        data.attrs[name] = _changed_attribute(data.attrs[name], rng)
    elif which == 2 and len(data.attrs):
        del data.attrs[list(data.attrs)[rng.integers(len(data.attrs))]]
    elif which == 3 and len(data.variables):
        data = data.drop_vars(list(data.variables)[rng.integers(len(data.variables))])
    elif len(data.data_vars):
        name = list(data.data_vars)[rng.integers(len(data.data_vars))]
        values = data[name]
        how = rng.integers(4)
        if how == 0 and values.dims:
            data = data.isel({values.dims[0]: slice(0, int(rng.integers(len(values) + 1)))})
        elif how == 1 and values.dtype.kind == "f":
            data[name] = values * float(rng.choice([np.nan, np.inf, 1e300, 0.0, -1.0]))
        elif how == 2:
            kind = str(rng.choice(["int32", "float32", "str"]))
            data[name] = values.astype(kind if values.dtype.kind in "biuf" else "str")
        else:
            data[name] = values.mean() if values.dtype.kind == "f" else values
    return data


def _changed_attribute(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, str) and value.startswith(("{", "[")) and rng.random() < 0.8:
        return json.dumps(_changed(json.loads(value), rng), default=str)
    simple = [
        one
        for one in VALUES
        if isinstance(one, (str, int, float)) and abs(one if not isinstance(one, str) else 0) < 2**60
    ]
    return simple[rng.integers(len(simple))]


FORMATS: dict[str, Callable[[np.random.Generator, int], bytes]] = {
    "yaml": _yaml,
    "planar": _planar,
    "table": _table,
    "urdf": partial(_xml, seed_files.urdf_text),
    "mjcf": partial(_xml, seed_files.mjcf_text),
    "formula": _formula,
    "result": partial(_netcdf, seed_files.result_bytes),
    "system": partial(_netcdf, seed_files.system_bytes),
    "checkpoint": partial(_netcdf, seed_files.checkpoint_bytes),
}
