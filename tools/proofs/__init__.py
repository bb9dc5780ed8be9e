"""Proofs that are commands of their own: model, chaos, crash, permissions, DeepSpeed."""
