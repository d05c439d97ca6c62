"""Shared by all tests: one BLAS thread, reproducible property tests, and no floating-point warning goes unseen."""

from hypothesis import settings
from threadpoolctl import threadpool_limits

from vsbo import optimizer

settings.register_profile("vsbo", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("vsbo")

threadpool_limits(1)
optimizer.FLOATING = {"divide": "warn", "over": "warn", "invalid": "warn"}  # and warnings are errors
