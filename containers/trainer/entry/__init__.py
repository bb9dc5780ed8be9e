"""The trainer task, from its start to its exit code: python -m containers.trainer.entry"""
