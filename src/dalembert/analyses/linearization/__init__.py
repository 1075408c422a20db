"""Linearization: exact linear models on the minimal state, their modes, and charts over a parameter."""
