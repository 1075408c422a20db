"""A short text with formulas, and its three forms: LaTeX, Markdown, and a page that needs no network."""

from __future__ import annotations

import functools
import html as escaping
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dalembert.derivation.typesetter import lines, width

__all__ = ["Document", "Folded", "Formula", "Heading", "Table", "Text", "aligned", "math"]

_WIDE = 92  # characters of a line of LaTeX


class Block(ABC):
    """A part of a document; ``numbers`` are those that its formulas take."""

    @abstractmethod
    def markdown(self, numbers: Iterator[int]) -> list[str]:
        """Its paragraphs."""

    @abstractmethod
    def html(self, numbers: Iterator[int]) -> str:
        """Its element."""


@dataclass(frozen=True)
class Heading(Block):
    text: str

    def markdown(self, numbers: Iterator[int]) -> list[str]:
        return [f"## {self.text}"]

    def html(self, numbers: Iterator[int]) -> str:
        return f"<h2>{_escape(self.text)}</h2>"


@dataclass(frozen=True)
class Text(Block):
    """Words, with formulas between dollar signs."""

    text: str

    def markdown(self, numbers: Iterator[int]) -> list[str]:
        return [self.text]

    def html(self, numbers: Iterator[int]) -> str:
        return f"<p>{_inline(self.text)}</p>"


@dataclass(frozen=True)
class Formula(Block):
    """One formula in pieces, between which a line may break."""

    pieces: Sequence[str]
    numbered: bool = True

    def markdown(self, numbers: Iterator[int]) -> list[str]:
        tag = f" \\tag{{{next(numbers)}}}" if self.numbered else ""
        return [f"$$\n{aligned(self.pieces)}{tag}\n$$"]

    def html(self, numbers: Iterator[int]) -> str:
        number = f'<span class="number">({next(numbers)})</span>' if self.numbered else ""
        parts = " ".join(f'<span class="piece">{math(piece)}</span>' for piece in self.pieces)
        return f'<div class="formula"><div class="flow">{parts}</div>{number}</div>'


@dataclass(frozen=True)
class Table(Block):
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self, numbers: Iterator[int]) -> list[str]:
        rows = [self.head, ["---"] * len(self.head), *self.rows]
        return ["\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)]

    def html(self, numbers: Iterator[int]) -> str:
        head = "".join(f"<th>{_inline(cell)}</th>" for cell in self.head)
        rows = "".join(f"<tr>{''.join(f'<td>{_inline(cell)}</td>' for cell in row)}</tr>" for row in self.rows)
        return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


@dataclass(frozen=True)
class Folded(Block):
    """Blocks behind a line that opens them."""

    summary: str
    blocks: Sequence[Block]

    def markdown(self, numbers: Iterator[int]) -> list[str]:
        return [f"**{self.summary}**", *(part for block in self.blocks for part in block.markdown(numbers))]

    def html(self, numbers: Iterator[int]) -> str:
        inner = "\n".join(block.html(numbers) for block in self.blocks)
        return f"<details><summary>{_inline(self.summary)}</summary>\n{inner}\n</details>"


@dataclass
class Document:
    """A title and blocks."""

    title: str
    subtitle: str = ""
    blocks: list[Block] = field(default_factory=lambda: [])

    def to_markdown(self) -> str:
        out = [f"# {self.title}", *([self.subtitle] if self.subtitle else [])]
        numbers = iter(range(1, 10**9))
        out += [part for block in self.blocks for part in block.markdown(numbers)]
        return "\n\n".join(out) + "\n"

    def to_html(self) -> str:
        numbers = iter(range(1, 10**9))
        body = "\n".join(block.html(numbers) for block in self.blocks)
        title = _escape(self.title)
        subtitle = f'<p class="subtitle">{_inline(self.subtitle)}</p>' if self.subtitle else ""
        page = _PAGE.replace("{{style}}", _STYLE).replace("{{title}}", title)
        page = page.replace("{{subtitle}}", subtitle).replace("{{body}}", body)
        return page


def aligned(pieces: Sequence[str], longest: int = _WIDE) -> str:
    """A formula as LaTeX, broken over lines where it is wide."""
    rows = lines(pieces, longest)
    if len(rows) == 1:
        return rows[0]
    return "\\begin{aligned}\n& " + " \\\\\n& \\quad ".join(rows) + "\n\\end{aligned}"


# HTML


def _escape(text: str) -> str:
    return escaping.escape(text, quote=False)


def _inline(text: str) -> str:
    """Words escaped, formulas between dollar signs as MathML."""
    parts = re.split(r"\$([^$]+)\$", text)
    return "".join(math(part) if k % 2 else _escape(part) for k, part in enumerate(parts))


_SPACED = re.compile(r"(?<=[^{(\s])\s*\\(sin|cos|tan|cot)\b")
_APPLIED = re.compile(r"\\(sin|cos|tan|cot)(\^\{\d+\})? (?!\\left)")
_UPRIGHT = re.compile(r'(?:<mi mathvariant="normal">[^<]*</mi>){2,}')


@functools.lru_cache(maxsize=4096)
def math(latex: str) -> str:
    """MathML of a formula."""
    from latex2mathml.converter import convert  # brings a client of HTTP

    text = _APPLIED.sub(lambda m: f"\\{m[1]}{m[2] or ''}\\, ", latex)
    text = _SPACED.sub(lambda m: f"\\, \\{m[1]}", text)
    mathml = convert(text)
    mathml = _UPRIGHT.sub(lambda m: f"<mtext>{re.sub('<[^>]*>', '', m[0])}</mtext>", mathml)
    # A piece that begins with a sign and a space goes on with a sum.
    if re.match(r"[+=-] ", latex):
        mathml = mathml.replace("<mo>", '<mo form="infix" lspace="0.222em" rspace="0.222em">', 1)
    return mathml.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "")


_STYLE = """
:root { color-scheme: light dark; --ink: #1c2128; --soft: #5b6472; --line: #d9dee5; --ground: #fdfdfc;
  --panel: #f4f5f7; --accent: #1f5fa8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e7ed; --soft: #98a2b0; --line: #343b45; --ground: #15181d;
  --panel: #1d2127; --accent: #7fb2ee; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 17px/1.6 Georgia, "Times New Roman", "Liberation Serif", serif; }
main { max-width: 54rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0; font-weight: 600; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .8rem; font-weight: 600; padding-bottom: .3rem;
  border-bottom: 1px solid var(--line); }
.subtitle { color: var(--soft); margin: .4rem 0 0; }
p { margin: .8rem 0; }
math { font-family: "Latin Modern Math", "STIX Two Math", "Cambria Math", "Libertinus Math",
  "TeX Gyre Termes Math", "DejaVu Math TeX Gyre", math; font-size: 1.06em; math-style: normal; }
mtext { font-family: inherit; }
.formula { display: flex; align-items: center; gap: 1rem; padding: .55rem 0; }
.flow { flex: 1; padding-left: 2.2em; text-indent: -2.2em; line-height: 2.3; min-width: 0;
  overflow-x: auto; overflow-y: hidden; }
.piece { display: inline-block; text-indent: 0; white-space: nowrap; margin-right: .18em; }
.number { color: var(--soft); font-variant-numeric: tabular-nums; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
th { text-align: left; font-weight: 600; color: var(--soft); border-bottom: 1px solid var(--line); }
th, td { padding: .38rem .9rem .38rem 0; vertical-align: baseline; }
td { border-bottom: 1px solid color-mix(in srgb, var(--line) 55%, transparent); }
details { background: var(--panel); border-radius: .5rem; padding: .6rem 1rem; margin: 1rem 0; }
summary { cursor: pointer; color: var(--accent); }
footer { color: var(--soft); margin-top: 3rem; font-size: .85rem; }
@media (max-width: 40rem) { body { font-size: 16px; } main { padding: 1.4rem .9rem 3rem; }
  .flow { padding-left: 1.2em; text-indent: -1.2em; } }
@media print { body { background: none; } details { background: none; } }
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{title}}</title>
<style>{{style}}</style>
</head>
<body>
<main>
<h1>{{title}}</h1>
{{subtitle}}
{{body}}
<footer>Derived by dalembert.</footer>
</main>
</body>
</html>
"""


def longest(pieces: Sequence[str]) -> int:
    """Width of the widest piece."""
    return max((width(piece) for piece in pieces), default=0)
