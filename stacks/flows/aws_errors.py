"""Errors of AWS as Step Functions names them: each name stands once, with where it was read. Those of RunTask stand in
belay/policy/ecs_words.py.

[G] Step Functions Developer Guide: "Integrating services" (the prefix of each service), "Handling errors", and the page
of the integration. An SDK integration puts the service's prefix before, and `Exception` after, the name in the API.
An error that the service's API does not name comes as its base class: `FSx.FSxException`.
"""

from belay.contract.errors import ServiceAway

LAMBDA_AWAY = (
    # [G, connect-lambda]: transient errors of the service itself. And what our Lambdas call an error of AWS's own.
    "Lambda.ServiceException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
    "Lambda.TooManyRequestsException",
    ServiceAway.__name__,
)
FSX_BAD_REQUEST = "FSx.BadRequestException"
FSX_FILE_SYSTEM_GONE = "FSx.FileSystemNotFoundException"
FSX_LINK_GONE = "FSx.DataRepositoryAssociationNotFoundException"
FSX_TASK_EXECUTING = "FSx.DataRepositoryTaskExecutingException"

START_EXECUTION_TRANSIENT = (
    # As the guide spells it, and as its rule for names would.
    "StepFunctions.ExecutionLimitExceeded",
    "StepFunctions.ExecutionLimitExceededException",
    "StepFunctions.AWSStepFunctionsException",
    "StepFunctions.ThrottlingException",
)
"""Nothing was started. After a lost reply a teardown may run already: the rescue and the sweep see to the rest."""
