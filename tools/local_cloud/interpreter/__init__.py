"""The adapter of moto's Step Functions interpreter: it runs what ministack's StartExecution starts."""
