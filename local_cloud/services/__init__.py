"""The services we add: each knows AWS's rules, none knows the engines."""
