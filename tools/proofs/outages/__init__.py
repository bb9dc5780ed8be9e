"""A service of AWS is away for hours while runs are in each of their phases."""
