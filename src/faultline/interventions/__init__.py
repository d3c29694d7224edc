"""Everything that acts again from a stored trajectory, memoised; diagnosers and baselines only read it."""
