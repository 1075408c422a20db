"""What one does with a model: assemble, simulate, compare, inspect."""

from dalembert.analyses.assemble import assemble
from dalembert.analyses.compare import Comparison, Entry, compare
from dalembert.analyses.ignorable import ignorable
from dalembert.analyses.inspect import Inspection, inspect
from dalembert.analyses.many import simulate_many
from dalembert.analyses.options import Options
from dalembert.analyses.redundancy import Redundancy, redundancy
from dalembert.analyses.saved import load
from dalembert.analyses.simulate import simulate

__all__ = [
    "Comparison",
    "Entry",
    "Inspection",
    "Options",
    "Redundancy",
    "assemble",
    "compare",
    "ignorable",
    "inspect",
    "load",
    "redundancy",
    "simulate",
    "simulate_many",
]
