"""Test problems, maximized."""

from benchmarks.problems.synthetic import Problem, branin50, hartmann6_50, permuted, styblinski_tang4_50

__all__ = ["Problem", "branin50", "hartmann6_50", "permuted", "styblinski_tang4_50"]
