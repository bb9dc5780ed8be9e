"""The trainer's image. entry/ runs as root and supervises; hook/ is all that a user's process gets of it."""
