"""Programs in modules, to be sent to workers."""
