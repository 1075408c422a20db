"""What one does with a model: assemble, simulate, compare, inspect, inverse dynamics, equilibria, sweeps."""
