"""Public problems with reference values, and how near we come to them: ``dalembert bench``."""

from dalembert.bench.bench_report import report
from dalembert.bench.measure import Precision, Row, bench, work_precision
from dalembert.bench.peers import Ratio, peers
from dalembert.bench.problems import PROBLEMS, PublicProblem, Way, reference_data

__all__ = [
    "PROBLEMS", "Precision", "PublicProblem", "Ratio", "Row", "Way", "bench", "peers", "reference_data", "report",
    "work_precision",
]  # fmt: skip
