"""Runs programs on Spark: its tasks host the workers, its DataFrames feed them."""
