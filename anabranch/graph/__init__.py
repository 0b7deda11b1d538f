"""The graph as values: nodes, code inside tasks, verification, text and pictures."""
