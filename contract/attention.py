"""From when on a person should look, for alarms and for the functions that name the run."""

BUDGET_PERCENT = 80
LATE_SECONDS = 3600
