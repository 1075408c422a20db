"""Comparison: one model by several formulations, side by side."""
