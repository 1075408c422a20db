"""What one does with a model: assemble, simulate, inspect."""

from dalembert.analyses.assemble import State, assemble
from dalembert.analyses.inspect import Inspection, inspect
from dalembert.analyses.many import simulate_many
from dalembert.analyses.redundancy import Redundancy, redundancy
from dalembert.analyses.simulate import simulate

__all__ = ["Inspection", "Redundancy", "State", "assemble", "inspect", "redundancy", "simulate", "simulate_many"]
