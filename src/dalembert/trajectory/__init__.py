"""Trajectories: labeled results and their certificate, as data."""

from dalembert.trajectory.certificate import Certificate, Check, Estimate
from dalembert.trajectory.trajectories import Batch
from dalembert.trajectory.trajectory import Trajectory

__all__ = ["Batch", "Certificate", "Check", "Estimate", "Trajectory"]
