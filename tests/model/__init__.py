"""The two state machines and the world that they act on, as one small model: every fault, at every state, tried."""

import os

# Read when the handlers, or what they share, are first imported.
os.environ |= {
    "POWERTOOLS_SERVICE_NAME": "belay",
    "POWERTOOLS_TRACE_DISABLED": "true",
    "POWERTOOLS_LOG_LEVEL": "CRITICAL",
}
