"""What a checkpoint costs training: stallfree beside its peers and the floors of the machine, in one command."""
