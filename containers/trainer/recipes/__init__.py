"""Fine-tuning as a job file asks for it: a task, a model, data on the mount."""
