"""Worker and coordinator as pure machines: `handle(event) -> [command]`, no input/output, clock, thread or randomness.

What runs them is in `drivers`, and in the tests a simulator that delays, drops, repeats and crashes. What runs inside a
task is the user's, and is given to the machines as code; to name the user's line, code may read its source.

    routing      bucket -> instance -> worker
    plan         which tasks of which entries share a stage
    messages     what machines, hosts and clients tell each other
    memory       the state of the instances in one address space, with a journal each
    rows         run one message on its task, and make those that follow
    exchange     what has arrived for which stage, and whether all has
    staged       an epoch, stage by stage
    columnar     the same through kernels
    fused        requests one after the other, where all state is in one address space
    worker       which of these is at hand, and what is committed of it
    coordinator  requests to epochs, commit, abort, recovery
"""
