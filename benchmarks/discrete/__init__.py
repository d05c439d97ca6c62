"""Whole numbers and choices: problems of few values a variable, and who finds most on them."""
