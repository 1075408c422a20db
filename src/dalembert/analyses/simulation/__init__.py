"""Simulation: runs in native time loops, their events and companions, certificates, checkpoints and living files."""
