"""Shared by all tests: one BLAS thread, and reproducible property tests."""

from hypothesis import settings
from threadpoolctl import threadpool_limits

settings.register_profile("vsbo", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("vsbo")

threadpool_limits(1)
