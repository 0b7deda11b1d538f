"""Hosts for the machines of `runtime`: threads of one process."""
