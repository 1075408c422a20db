"""Formulations with the coordinates that they are tested in."""

from __future__ import annotations

from dalembert.fuzz.ways import ANALYTICAL, PAIRS, coordinates_of

__all__ = ["ANALYTICAL", "PAIRS", "coordinates_of"]
