"""The shape of the source tree: who may import whom, what is never called, and how large things may grow."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dalembert
from dalembert.constraints import CONSTRAINTS
from dalembert.forces import FORCES
from dalembert.joints import JOINTS

ROOT = Path(dalembert.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

# From the bottom to the top; a folder may import from its own row and from the rows above it in this list.
LAYERS = (
    ("errors",),
    ("atomic",),
    ("notebook",),
    ("netcdf",),
    ("values",),
    ("passed_on",),
    ("arguments",),
    ("native",),
    ("codegen",),
    ("numerics",),
    ("algebra",),
    ("expressions",),
    ("spatial",),
    ("elements",),
    ("solids", "joints", "constraints", "forces"),
    ("model",),
    ("topology",),
    ("tree",),
    ("coordinates",),
    ("equations",),
    ("state",),
    ("formulations",),
    ("integrators",),
    ("dynamics",),
    ("derivation",),
    ("modular",),
    ("view",),  # draws runs too, but reads them through their methods: it imports nothing of ``trajectory``
    ("planar",),
    ("io",),
    ("trajectory",),
    ("export",),
    ("analyses",),
    ("library",),
    ("fuzz",),
    ("bench",),
    ("cli",),
    ("__init__", "__main__"),
)
# Likewise within the room of analyses.
ANALYSES = (
    ("assembly", "contacts"),
    ("simulation",),
    ("comparison", "linearization", "motions", "structure"),
    ("statics", "sweeps"),
    ("saved",),
)
LEVEL = {name: level for level, row in enumerate(LAYERS) for name in row}

# Calls that run text or unpack code. Each exception was read and is safe for the reason given.
FORBIDDEN = {
    "eval", "exec", "sympify", "parse_expr", "lambdify", "load", "loads", "compile", "__import__", "system", "popen",
}  # fmt: skip
FORBIDDEN_OWNERS = {
    "load": {"yaml", "pickle", "marshal", "shelve", "np", "numpy", "joblib", "dill"},
    "loads": {"pickle", "marshal", "dill"},
    "compile": {None},
    "system": {"os"},
    "popen": {"os"},
}
REVIEWED: dict[tuple[str, str], str] = {
    ("bench/peer_pendulum.py", "lambdify"): "a peer as its users run it: formulas of a pendulum written in that file",
    ("native/translate.py", "compile"): "source of a module that Python has imported; compared, never run",
}


LONGEST_MODULE = 600
MOST_STATEMENTS = 60
MOST_ARGUMENTS = 8  # by position, and as many options by name


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """All nodes of a module."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


# What every module must keep to: what is wrong in one, in words.
RULES: dict[str, Callable[[Path], list[str]]] = {}


def rule(check: Callable[[Path], list[str]]) -> Callable[[Path], list[str]]:
    RULES[check.__name__] = check
    return check


def folder(path: Path) -> str:
    part = path.relative_to(ROOT).parts[0]
    return part.removesuffix(".py")


def imports(path: Path) -> list[tuple[str, int]]:
    """The package's folders that a module imports, wherever in the text; those for type checkers alone do not count."""
    for_types = {
        id(inner)
        for node in nodes(path)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    found = []
    for node in nodes(path):
        if id(node) in for_types:
            continue
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            names = [node.module or ""]
            if node.module == "dalembert":
                names = [f"dalembert.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and _called(node) == "import_module" and node.args:
            argument = node.args[0]
            names = [argument.value] if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else []
        for name in names:
            if name.split(".")[0] == "dalembert" and "." in name:
                found.append((name.split(".")[1], node.lineno))
    return found


def _called(node: ast.Call) -> str | None:
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else None


def test_every_folder_has_a_place():
    assert {folder(path) for path in MODULES} <= set(LEVEL), "a new folder needs its row in LAYERS"


@rule
def dependencies_run_one_way(path):
    mine = folder(path)
    return [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for name, line in imports(path)
        if name in LEVEL and name != mine and LEVEL[name] >= LEVEL[mine] and mine != "__init__"
    ]


@pytest.mark.parametrize("path", sorted((ROOT / "analyses").rglob("*.py")), ids=lambda path: path.stem)
def test_analyses_stand_on_one_another_one_way(path):
    """What the rooms within ``analyses`` import of each other runs one way too."""

    def level(part: str) -> int:
        return next(i for i, row in enumerate(ANALYSES) if part in row)

    mine = path.relative_to(ROOT / "analyses").parts[0].removesuffix(".py")
    if mine == "__init__":
        return
    wrong = [
        f"{path.stem}:{node.lineno} imports {node.module}"
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dalembert.analyses.")
        and (other := (node.module or "").split(".")[2]) != mine and level(other) >= level(mine)
    ]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def test_no_file_name_occurs_twice():
    """A file is found by its name."""
    count = Counter(path.stem for path in MODULES)
    assert {name for name, n in count.items() if n > 1} <= {"base", "__init__"}


def test_the_check_can_see_imports():
    """Imports of known modules are found, also inside functions."""
    assert "algebra" in {name for name, _ in imports(ROOT / "spatial" / "so3.py")}
    assert "model" in {name for name, _ in imports(ROOT / "topology" / "graph.py")}
    inside = {name for path in MODULES for name, _ in imports(path)}
    assert {"errors", "algebra", "spatial", "joints", "coordinates"} <= inside


@rule
def nothing_runs_text(path):
    found = []
    for node in nodes(path):
        if not isinstance(node, ast.Call):
            continue
        name = _called(node)
        if name not in FORBIDDEN:
            continue
        owner = None
        if isinstance(node.func, ast.Attribute):
            owner = node.func.value.id if isinstance(node.func.value, ast.Name) else "?"
        if name == "sympify" and any(
            k.arg == "strict" and getattr(k.value, "value", None) is True for k in node.keywords
        ):
            continue  # refuses text
        if name in FORBIDDEN_OWNERS and owner not in FORBIDDEN_OWNERS[name]:
            continue
        if (str(path.relative_to(ROOT)), name) not in REVIEWED:
            found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node.func)}(…)")
    return found


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, dalembert; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    heavy = {
        "numpy", "scipy", "sympy", "casadi", "numba", "llvmlite", "pydantic", "xarray", "matplotlib", "rich", "typer",
    }  # fmt: skip
    assert "dalembert" in loaded
    assert not loaded & heavy
    assert sum(name.startswith("dalembert") for name in done.stdout.split()) <= 3


def test_every_public_name_exists():
    for name in dalembert.__all__:
        assert getattr(dalembert, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = dalembert.no_such_name


@rule
def rooms_stay_small(path):
    where, found = path.relative_to(ROOT), []
    lines = len(path.read_text(encoding="utf-8").splitlines())
    if lines > LONGEST_MODULE:
        found.append(f"{where}: {lines} lines: the design is asking for another room")
    for node in nodes(path):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            statements = sum(isinstance(inner, ast.stmt) for inner in ast.walk(node)) - 1
            if statements > MOST_STATEMENTS:
                found.append(f"{where}: {node.name} has {statements} statements")
            if folder(path) in ("cli", "library"):
                continue  # the options of a command and the dimensions of a mechanism are its arguments
            named = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
            arguments = len(named) - (named[:1] in (["self"], ["cls"]))
            options = len(node.args.kwonlyargs)
            if max(arguments, options) > MOST_ARGUMENTS:
                found.append(f"{where}: {node.name} has {arguments} and {options} arguments")
    return found


@rule
def native_code_is_our_own(path):
    """Nothing but ``dalembert.native`` makes machine code of functions."""
    modules = [
        name
        for node in nodes(path)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    ]
    foreign = [name for name in modules if name.split(".")[0] in ("numba", "jax", "cython")]
    return [f"{path.relative_to(ROOT)} imports {name}" for name in foreign]


# Rooms that may name single kinds: the catalogs themselves, and whoever builds models out of them.
NAMES_KINDS = {"joints", "forces", "constraints", "library", "io", "fuzz"}


@rule
def elements_are_asked_not_sorted_by_kind(path):
    """Nobody compares the kind of an element or the class of a force or constraint: the class answers by itself."""
    if folder(path) in NAMES_KINDS or path.name == "system.py":
        return []
    catalogs: tuple[dict[str, Any], ...] = (JOINTS, FORCES, CONSTRAINTS)
    kinds = {kind for catalog in catalogs for kind in catalog}
    classes = {kind.__name__ for catalog in (FORCES, CONSTRAINTS) for kind in catalog.values()}
    found = []
    for node in nodes(path):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "kind":
            named = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
            found += [f"{path.relative_to(ROOT)}:{node.lineno} compares a kind" for _ in kinds & named]
        if isinstance(node, ast.Call) and _called(node) == "isinstance":
            named = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            found += [f"{path.relative_to(ROOT)}:{node.lineno} asks for {name}" for name in classes & named]
    return found


@pytest.mark.parametrize("name", RULES)
def test_every_module_keeps_to_the_rule(name):
    found = [problem for path in MODULES for problem in RULES[name](path)]
    assert not found, "\n".join(found)


def test_the_rules_can_be_broken(tmp_path, monkeypatch):
    """Each rule sees what breaks it."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    broken = tmp_path / "errors.py"
    arguments = ", ".join("abcdefghi")
    text = f"""
import numba
from dalembert.model import Model
def long({arguments}):
{chr(10).join("    x = 1" for _ in range(MOST_STATEMENTS + 1))}
if force.kind == "spring" or isinstance(force, {next(iter(FORCES.values())).__name__}):
    eval("1")
"""
    broken.write_text(text, encoding="utf-8")
    for name, check in RULES.items():
        assert check(broken), name


@pytest.fixture(autouse=True, scope="module")
def _trees_are_dropped():
    """Millions of nodes would slow down every garbage collection of the tests that follow."""
    yield
    nodes.cache_clear()


# pyright is strict (pyproject.toml). What it is told to overlook is counted; these numbers only ever fall.
MOST_IGNORES = 23
MOST_BASIC_FILES = 0


def test_the_type_checker_is_strict_and_seldom_silenced():
    """An ignore names its rule, and files that are checked by the basic rules only are few."""
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "pyright"
    ]
    assert settings["typeCheckingMode"] == "strict" and not settings.get("ignore") and not settings.get("exclude")
    off = {name for name, value in settings.items() if name.startswith("report") and value is False}
    assert off == {
        "reportConstantRedefinition", "reportMatchNotExhaustive", "reportMissingTypeStubs", "reportUnknownMemberType",
        "reportUnnecessaryIsInstance",
    }  # fmt: skip
    ignores, basic = [], []
    for path in MODULES:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            comment = re.search(r"#\s*(?:type|pyright):\s*(ignore|basic|standard|report\w+)(\[[\w\-, ]+\])?", line)
            if comment is None:
                continue
            if comment[1] == "ignore":
                assert comment[2], f"{path.relative_to(ROOT)}:{number}: name the rule, # pyright: ignore[reportX]"
                ignores.append(path)
            else:
                assert number == 1 and line == "# pyright: basic", f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
                basic.append(path)
    assert len(ignores) <= MOST_IGNORES, f"{len(ignores)} ignores"
    assert len(basic) <= MOST_BASIC_FILES, f"{len(basic)} files"
