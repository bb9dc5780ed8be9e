"""Logs, metrics and traces in one form. POWERTOOLS_SERVICE_NAME names the deployment."""

from aws_lambda_powertools import Logger, Metrics, Tracer

NAMESPACE = "Belay"

logger = Logger()
metrics = Metrics(namespace=NAMESPACE)
tracer = Tracer(patch_modules=["botocore"])
