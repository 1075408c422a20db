"""What one does with a model: assemble, simulate, compare, inspect, inverse dynamics."""

from dalembert.analyses.assemble import assemble
from dalembert.analyses.compare import Comparison, Entry, compare
from dalembert.analyses.ignorable import ignorable
from dalembert.analyses.inspect import Inspection, inspect
from dalembert.analyses.inverse import inverse_dynamics
from dalembert.analyses.inverse_result import Inverse
from dalembert.analyses.many import simulate_many
from dalembert.analyses.redundancy import Redundancy, redundancy
from dalembert.analyses.saved import load
from dalembert.analyses.signals import Samples
from dalembert.analyses.simulate import simulate
from dalembert.analyses.sizing import Sizing

__all__ = [
    "Comparison",
    "Entry",
    "Inspection",
    "Inverse",
    "Redundancy",
    "Samples",
    "Sizing",
    "assemble",
    "compare",
    "ignorable",
    "inspect",
    "inverse_dynamics",
    "load",
    "redundancy",
    "simulate",
    "simulate_many",
]
