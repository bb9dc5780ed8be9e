"""AWS in memory, for tests of Lambdas without a cloud."""
