"""A case: everything that is needed to try one thing again, as plain data; drawn from a seed, tried, made smaller."""

from __future__ import annotations

import base64
import traceback
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.fuzz.check_exports import check_export, random_export
from dalembert.fuzz.check_files import check_file
from dalembert.fuzz.check_models import WAYS_AT_ONCE, Finding, Judged, check_model
from dalembert.fuzz.check_planar import check_planar
from dalembert.fuzz.check_runs import check_run, random_options, random_outputs
from dalembert.fuzz.check_systems import check_system
from dalembert.fuzz.hostile_files import FORMATS, hostile_file
from dalembert.fuzz.random_mechanisms import draw_size, random_model
from dalembert.fuzz.random_models import Size
from dalembert.fuzz.random_planar import random_planar
from dalembert.fuzz.random_scenes import random_scene
from dalembert.fuzz.random_systems import random_system
from dalembert.model.document import from_document, to_document
from dalembert.planar.planar_document import from_planar_document, to_planar_document

__all__ = ["KINDS", "Case", "draw_case", "smaller_cases", "try_case"]

Case = dict[str, Any]
KINDS = ("models", "runs", "files", "exports", "planar", "systems")
SCENES = 0.7  # of the runs; the others are of mechanisms of all kinds
SECTIONS = ("events", "outputs", "forces", "constraints", "submodels", "joints", "bodies")
PLANAR_SECTIONS = ("springs", "forces", "contacts", "joints", "bodies")
OPTIONS = ("coordinates", "atol", "initial_rates", "outputs")


def draw_case(kind: str, seed: int) -> Case:
    """A random case of one of ``KINDS``."""
    case: Case = {"kind": kind, "seed": seed}
    if kind == "files":
        names = list(FORMATS)
        form = names[seed % len(names)]
        content, number = hostile_file(form, seed)
        return {**case, "format": form, "number": number, "content": base64.b64encode(content).decode()}
    if kind == "planar":
        return {**case, "model": to_planar_document(random_planar(seed))}
    if kind == "systems":
        return {**case, "model": random_system(seed)}
    rng = np.random.default_rng([seed, 4])
    size = draw_size(rng)
    case |= {"length": size.length, "time": size.time}
    if kind in ("runs", "exports") and rng.random() < SCENES:
        model, rates = random_scene(seed, size)
        options = random_options(rng, size.time) | {"initial_rates": rates, **random_outputs(rng)}
        if kind == "exports":
            options = random_export(rng, size.time) | {"initial_rates": rates}
        return {**case, "model": to_document(model), "options": options}
    case["model"] = to_document(random_model(seed, size))
    if kind == "runs":
        case["options"] = random_options(rng, size.time)
    if kind == "exports":
        case["options"] = random_export(rng, size.time)
    return case


def try_case(case: Case) -> Judged:
    """Try a case. Whatever is raised that is not an answer to a user is a finding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if case["kind"] == "files":
                return check_file(case["format"], base64.b64decode(case["content"]), int(case["number"]))
            if case["kind"] == "planar":
                return check_planar(from_planar_document(case["model"]), int(case["seed"]))
            if case["kind"] == "systems":
                return check_system(case["model"])
            model = from_document(case["model"])
            size = Size(float(case.get("length", 1.0)), time=float(case.get("time", 1.0)))
            if case["kind"] == "runs":
                return check_run(model, case["options"], size)
            if case["kind"] == "exports":
                return check_export(model, case["options"], size)
            return check_model(model, int(case["seed"]), size=size, ways=int(case.get("ways", WAYS_AT_ONCE)))
        except DalembertError as error:
            return Judged(skipped=f"refused: {error}")
        except MemoryError:
            return Judged([Finding("memory", "more memory is asked for than a case may have")])
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__} in {last.name}"
            return Judged([Finding(f"traceback: {place}", "".join(traceback.format_exception(error)[-6:]))])


def smaller_cases(case: Case) -> Iterator[Case]:
    """The same case with something left out, the largest pieces first."""
    if case["kind"] == "files":
        content = base64.b64decode(case["content"])
        piece = len(content) // 2
        while piece:
            for at in range(0, len(content), piece):
                rest = content[:at] + content[at + piece :]
                yield {**case, "content": base64.b64encode(rest).decode()}
            piece //= 2
        return
    if case.get("ways", WAYS_AT_ONCE) and case["kind"] == "models":
        yield {**case, "ways": 0}
    for name in OPTIONS:
        if name in case.get("options", {}):
            yield {**case, "options": {key: value for key, value in case["options"].items() if key != name}}
    kind = case["kind"]
    if kind == "systems":
        smaller = _without(case["model"], ("forces", "rows", "leaves"), "leaves")
    else:
        sections = PLANAR_SECTIONS if kind == "planar" else SECTIONS
        smaller = filter(partial(_is_valid, kind), _without(case["model"], sections, "bodies"))
    yield from ({**case, "model": document} for document in smaller)


def _without(document: dict[str, Any], sections: tuple[str, ...], parts: str) -> Iterator[dict[str, Any]]:
    """The same data without a section or an entry of one.

    Args:
        parts: the section of what others name: bodies, leaves.
    """
    for section in sections:
        entries: list[Any] = document.get(section) or []
        if len(entries) > 1 and section != parts:
            yield {key: value for key, value in document.items() if key != section} | _empty(section, parts)
        for i in range(len(entries)):
            yield {**document, section: entries[:i] + entries[i + 1 :]}
    # A body at the end of a branch goes with its joints and with what names it.
    listed: dict[str, list[Any]] = {section: document.get(section) or [] for section in sections}
    for body in [str(entry.get("name")) for entry in listed[parts]]:
        left = {key: value for key, value in document.items() if key not in sections}
        for section in sections:
            kept = [entry for entry in listed[section] if not _names(entry, body)]
            left |= {section: kept} if kept else _empty(section, parts)
        yield left


def _empty(section: str, parts: str) -> dict[str, Any]:
    """Data of systems has all of its sections."""
    return {section: []} if parts == "leaves" else {}


def _names(data: Any, name: str) -> bool:
    text = repr(data)
    return f"'{name}'" in text or f"({name})" in text or f"'{name}." in text


def _is_valid(kind: str, document: dict[str, Any]) -> bool:
    """Whether this is a model."""
    try:
        (from_planar_document if kind == "planar" else from_document)(document).validate()
    except DalembertError:
        return False
    return True
