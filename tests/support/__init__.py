"""Shared helpers of the tests: running one text in every algebra, random mechanisms, an independent oracle."""
