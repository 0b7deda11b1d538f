"""Processes that go on with a copy of another's memory.

`child` makes one, `doors` are the streams between it and whoever has the other end, `gateway` lets it be reached over
the network by way of the process it was forked from: gRPC does not work in a copy of a process that has used it.
Workers that are apart fork themselves (`at_worker`) when their coordinator asks (`at_coordinator`); `launching` makes a
run of the copies. Where workers are threads, `anabranch.engines.connected.forked` does.
"""
