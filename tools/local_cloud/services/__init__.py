"""Our own services, FSx and ECS tasks: each knows AWS's rules, none knows the engines."""
