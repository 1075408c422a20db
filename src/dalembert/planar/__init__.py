"""Planar mechanisms by nodes: bodies, joints and rolling contacts in the plane."""

from dalembert.planar.planar_mechanism import Planar

__all__ = ["Planar"]
