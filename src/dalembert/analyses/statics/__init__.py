"""Statics: equilibria and steady motions, with their stability."""
