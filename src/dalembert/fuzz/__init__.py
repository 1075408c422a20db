"""Random models, runs and hostile files, and what must hold for all of them: ``dalembert bench --fuzz``."""

from dalembert.fuzz.case import KINDS
from dalembert.fuzz.fuzzing import Fuzzed, fuzz, replay

__all__ = ["KINDS", "Fuzzed", "fuzz", "replay"]
