"""The table of a comparison as a paper prints it: LaTeX with ``booktabs``."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["latex_table"]

HEADS = {  # of columns whose letters LaTeX has under other names
    "|φ|": r"$|\varphi|$", "|φ̇|": r"$|\dot\varphi|$", "|φ̈|": r"$|\ddot\varphi|$",
    "Δ pose": r"$\Delta$ pose", "Δ twist": r"$\Delta$ twist",
}  # fmt: skip
_SPECIAL = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {"–": "--"})
_POWER = re.compile(r"(\d)e([+-]\d+)")


def latex_table(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """A ``tabular``: the first two columns are words, the others numbers."""
    titles = [HEADS.get(head) or head.translate(_SPECIAL) for head in heads]
    lines = [f"% {line}" for line in ("needs \\usepackage{booktabs}", *caption.splitlines())]
    lines += [
        f"\\begin{{tabular}}{{ll{'r' * (len(heads) - 2)}}}",
        "\\toprule",
        " & ".join(titles) + r" \\",
        "\\midrule",
    ]
    lines += [" & ".join(map(_cell, row)) + r" \\" for row in rows]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])


def _cell(text: str) -> str:
    """Words with their special letters, and powers of ten: 4e-07 is 4·10⁻⁷."""
    found = _POWER.fullmatch(text)
    return rf"${found[1]} \cdot 10^{{{int(found[2])}}}$" if found else text.translate(_SPECIAL)
