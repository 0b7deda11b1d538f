"""What runs graphs. `sequential` is the oracle: simple, one row after the other."""
