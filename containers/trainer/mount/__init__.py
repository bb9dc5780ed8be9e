"""The run's file system: mounted, checked, and the run's folders on it."""
