"""While training runs: its signals, its deadline, and how it ended. Nothing here touches the mount."""
