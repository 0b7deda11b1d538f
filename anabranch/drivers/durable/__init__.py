"""Runs that outlive their processes.

What a user says: settings. Start: opening (claim a location, see what is there), restoring (put it into memory).
Go on: run (a saved run from opening to closing), saver (what was committed), snapshots and copying (all of it, slice by
    slice), worker (the same in a process of its own)
Besides: owns (own state types as bytes), marks and remembering (what was done already)

The files themselves are in `anabranch.state.checkpoint`.
"""
