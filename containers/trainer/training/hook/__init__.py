"""What is put on PYTHONPATH of everything that a job runs. It imports neither `training` nor `contract`.

A user's own code may well have packages of these names, and it must get its own.
"""
