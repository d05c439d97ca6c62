"""The problems by name."""

from benchmarks.problems.problem import Problem, permuted
from benchmarks.problems.synthetic import branin50, hartmann6_50, styblinski_tang4_50

__all__ = ["Problem", "branin50", "hartmann6_50", "permuted", "styblinski_tang4_50"]
