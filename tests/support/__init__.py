"""Shared by several test folders: linters, and the deployments beside that of cdk.json."""
