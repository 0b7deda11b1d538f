"""The compiled tier: kernels over flat memory. The only part of the project that imports numba."""
