"""The Lambdas as CDK constructs, each with the grants that it needs."""
