"""What all parts of Belay agree on: the job file, the run's paths, events and verdict. Imports nothing of ours."""
