"""Run in the registry; the sampler's own tests are in the package."""
