"""The solvers: one algorithm a file; `loop` holds what all share."""
