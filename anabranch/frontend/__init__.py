"""Class to graph, or diagnostics that say why not.

The way of a class, in the order of the files that do it:

    read, program, unit         find the source, check the class, know its states and configuration
    statements, loops, tries,   Python statements to statements of the graph, with the types of all variables (`scope`,
      patterns, assignments,      `narrow`) followed along in a `context`
      stores
    expressions, conditions,    Python expressions to typed ones; what reaches state is written as statements before
      displays, comprehensions,
      comprehension_loops
    calls, functions, exits,    helpers, entries and functions: specialised or inlined
      records, value_calls,
      library_calls, resolve
    accesses, states            accesses to state and the rules of the three distributions
    operators, methods, library the types of operators, of methods of values, of what may be called
    numbers                     value numbers: which keys are the same place
    cut, writer, cells, pieces, the entry in pieces: tasks and flows; fan-outs; loops left in the middle
      fanout, positions
    flows, sharing, aliases     what may leave a task
    translate                   the graph
    codes, diagnostics          what is told to the user
"""
