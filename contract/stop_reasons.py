"""What Belay writes when it stops a task itself, and reads again from the task to know why it ended."""

NO_CAPACITY = "Belay: no capacity"
INTERRUPTION = "Belay: interruption"
