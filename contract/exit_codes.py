"""How the trainer ends when it was Belay that stopped the training, told by its exit code alone.

A training that happens to end with one of these itself is reported as 1.
"""

TIME_SPENT = 96
BUDGET_SPENT = 97

RESERVED = frozenset({TIME_SPENT, BUDGET_SPENT})
