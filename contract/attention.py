"""From when on a person should look, for alarms and for the functions that name the run."""

BUDGET_PERCENT = 80
LATE_SECONDS = 3600

# Under which names the ledger remembers that a person was told.
EXPORT_LATE = "export late"
BUDGET_ALMOST_SPENT = "budget almost spent"
