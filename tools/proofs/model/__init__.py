"""Model checking of both state machines: every fault at every state, with the Lambdas' own code on a model of AWS."""

import os

# Powertools reads them when the handlers are imported.
os.environ |= {
    "POWERTOOLS_SERVICE_NAME": "belay",
    "POWERTOOLS_TRACE_DISABLED": "true",
    "POWERTOOLS_LOG_LEVEL": "CRITICAL",
}
