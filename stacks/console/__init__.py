"""What a person sees of Belay in AWS's own console: alarms, a dashboard, saved queries."""
