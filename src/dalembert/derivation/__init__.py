"""Equations of motion as mathematics: derived by a formalism, simplified, typeset, compiled.

da.derive(model, "kane").latex()
"""

from dalembert.derivation.derivation import Derivation, derivable, derive

__all__ = ["Derivation", "derivable", "derive"]
