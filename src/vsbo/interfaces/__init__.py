"""Doors to vsbo for programs, people and other libraries; the only place for dependencies beyond NumPy and SciPy."""
