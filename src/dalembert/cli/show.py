"""``dalembert inspect``, ``list`` and ``new``."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dalembert.cli.progress import messages, working
from dalembert.cli.run import get_model
from dalembert.errors import DalembertError

__all__ = ["show_catalog", "show_inspection", "show_redundancy", "write_starter"]

STARTER = """\
# A pendulum to start from. Run it:  dalembert run {name}
# Joints and bundled models to look at: dalembert list. Fields: help(dalembert.Model), each a method of the same name.
name: {stem}
gravity: [0, 0, -9.81]
parameters:
  length: 1.0
  mass: 2.0
bodies:
  - name: rod
    mass: mass
    com: [length/2, 0, 0]
    inertia: [0, mass*length**2/12, mass*length**2/12]
joints:
  - name: hinge
    kind: revolute
    bodies: [ground, rod]
    point: [0, 0, 0]
    axis: y
outputs:
  - name: height
    formula: z(rod)
    unit: m
initial:
  hinge: 0.3
"""


def show_inspection(name: str, parameters: dict[str, float]) -> None:
    """Print the structure of a model."""
    console = Console(highlight=False, soft_wrap=True)
    with working(f"inspecting {escape(name)}", messages()):
        from dalembert.analyses.structure.inspect import inspect

        found = inspect(get_model(name), parameters)
    console.print(str(found), markup=False)


def show_redundancy(name: str, parameters: dict[str, float], initial: dict[str, float]) -> None:
    """Print what is redundant, which reactions are unique, and how to make the mechanism isostatic."""
    console = Console(highlight=False, soft_wrap=True)
    with working(f"inspecting {escape(name)}", messages()):
        from dalembert.analyses.assembly.assemble_model import assemble
        from dalembert.analyses.structure.redundancy import COMPONENTS, freedoms, redundancy

        model = get_model(name)
        found = redundancy(model, assemble(model, initial, parameters=parameters))
    console.print(f"[bold]{escape(found.name)}[/]: {freedoms(found.mobility)}, {found.gruebler} by Grübler's count")
    for sentence in found.verdict():
        console.print(escape(sentence), style="yellow" if "singular" in sentence else None)
    facts = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    if found.rows:
        facts.add_row("redundant in relative coordinates", escape(", ".join(found.rows)))
    for owners, words in found.groups():
        facts.add_row("in balance among " + escape(", ".join(owners)), escape("; ".join(words)))
    for stress in found.singular_stresses:
        facts.add_row("here also, among " + escape(", ".join(stress.owners)), escape(stress.words), style="yellow")
    for remedy in found.remedies:
        facts.add_row("isostatic if", escape(str(remedy)), style="green")
    console.print(facts)
    table = Table(title="Reactions", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for head in ("joint", "kind", *COMPONENTS):
        table.add_column(head, no_wrap=True)
    style = {"shared": "[yellow]shared[/]", "unique": "[green]unique[/]", "": "[dim]–[/]"}
    for joint, kind, *components in found.table():
        table.add_row(escape(joint), kind, *(style[word] for word in components))
    console.print(table)


def show_catalog() -> None:
    """Print everything that has a name."""
    from dalembert.cli.catalog import MODELS, REGISTRIES

    console = Console(highlight=False, soft_wrap=True)
    table = Table(title="Bundled models", title_justify="left", box=None, show_header=False, padding=(0, 2, 0, 2))
    for name, description in MODELS.items():
        table.add_row(name, description)
    console.print(table)
    for title, names in REGISTRIES.items():
        console.print(f"{title}: {', '.join(names)}")


def write_starter(path: Path) -> None:
    """Write a small model file; never over another file."""
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise DalembertError(f"{path}: expected a name that ends in .yaml")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(STARTER.format(name=path, stem=path.stem))
    except FileExistsError:
        raise DalembertError(f"{path} exists already; choose another name") from None
    except OSError as error:
        raise DalembertError(f"cannot write {path}: {error.strerror}") from None
    Console(highlight=False).print(f"wrote {path}; try: dalembert run {path}", soft_wrap=True)
