"""What several formulations share: base classes of formalisms, and states in independent variables."""
