"""Which of Belay's assumptions held, by what was seen. Pure."""
