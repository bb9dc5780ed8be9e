"""The two state machines and the world that they act on, as one small model: every fault, at every state, tried."""
