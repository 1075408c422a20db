"""Trajectories: labelled results, their certificate, their pictures."""

from dalembert.trajectory.batch import Batch
from dalembert.trajectory.certificate import Certificate, Check
from dalembert.trajectory.trajectory import Trajectory, load

__all__ = ["Batch", "Certificate", "Check", "Trajectory", "load"]
