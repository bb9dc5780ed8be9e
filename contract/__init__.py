"""What all parts of Belay agree on: the job file, the run's paths, its events, its verdict. Imports nothing of ours."""
