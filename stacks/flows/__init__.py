"""The two state machines. `train.py` is the flow chart of a run; `teardown.py` is how every run ends."""
