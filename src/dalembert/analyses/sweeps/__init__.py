"""Sweeps: many runs over grids and random samples, in threads, processes or on a cluster."""
