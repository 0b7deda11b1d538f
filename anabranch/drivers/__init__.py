"""Hosts for the machines of `runtime`: threads, processes, and what lies between them.

In one process: callers, desk (the coordinator and who waits), host (a thread around a worker), threads, interrupts,
    kernels, timing
Workers apart: apart (callers' side), fleet and answers (workers as the coordinator's process sees them), resident
    (a worker in its own process), nursery and processes (start them), staging (rows that feeders bring)
A program there: shipping, scopes
Bytes and wires: values, wire (messages as bytes), pieces and letters (long ones), flight, tls
Saved: the folder durable
Served to others: served, reception, described, typecodes, carried (exceptions), crossing (tables and states)
"""
