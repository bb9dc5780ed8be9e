"""From when on a person should look, for alarms and for the functions that name the run."""

BUDGET_PERCENT = 80
LATE_SECONDS = 3600

# The names of notices in the ledger.
EXPORT_LATE = "export late"
BUDGET_ALMOST_SPENT = "budget almost spent"
