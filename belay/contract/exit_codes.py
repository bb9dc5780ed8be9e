"""How the trainer ends when Belay knows more than the training's own exit code, told by the exit code alone.

A training that happens to end with one of these itself is reported as 1.
"""

TIME_SPENT = 96
BUDGET_SPENT = 97
HUNG = 98
NO_PROGRESS = 99

RESERVED = frozenset({TIME_SPENT, BUDGET_SPENT, HUNG, NO_PROGRESS})
