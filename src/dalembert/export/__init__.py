"""Mechanisms that leave Python: pages that simulate, and C."""
