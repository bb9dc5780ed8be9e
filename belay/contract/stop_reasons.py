"""What Belay writes when it stops a task itself, and reads again from the task to know why it ended, or how to end."""

NO_CAPACITY = "Belay: no capacity"
INTERRUPTION = "Belay: interruption"
KILLED = "Belay: killed"

# On a task: when it is asked to stop, it does not save first.
END_NOW_TAG = "belay:end-now"
