"""Assembly: loops closed from a guess, with given joints, points and rates; all branches; the rank of their rows."""
