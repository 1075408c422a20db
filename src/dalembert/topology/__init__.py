"""The system graph of a mechanism: spanning tree, chains, junctions, loops, counted degrees of freedom."""

from dalembert.topology.graph import Branch, Graph, Loop, SpanningTree

__all__ = ["Branch", "Graph", "Loop", "SpanningTree"]
