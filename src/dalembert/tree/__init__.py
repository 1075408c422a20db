"""Algorithms on trees of links: passes outward and inward, momenta, derivatives, products of exponentials."""

from dalembert.tree.link import InverseDerivatives, Link, Tree

__all__ = ["InverseDerivatives", "Link", "Tree"]
