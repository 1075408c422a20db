"""Prescribed motions: kinematics, workspaces, inverse dynamics, and what motors and bearings must bear."""
