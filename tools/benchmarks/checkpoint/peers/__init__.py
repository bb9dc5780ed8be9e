"""What stallfree is compared with."""
