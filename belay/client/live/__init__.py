"""`belay doctor --live`: what was seen of AWS, and which of Belay's assumptions held."""
