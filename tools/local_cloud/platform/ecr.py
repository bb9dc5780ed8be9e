"""ECR reports a missing image: the CDK CLI then builds and pushes it."""

from __future__ import annotations

import json
from typing import Any

from tools.local_cloud import engines

MODULE = "ministack.services.ecr"


def install() -> None:
    """ministack answers DescribeImages of an unknown image with an empty list."""
    describe = engines.use(MODULE, "_describe_images")

    def describe_images(request: dict[str, Any]) -> Any:
        answer = describe(request)
        if answer[0] < 300 and request.get("imageIds") and not json.loads(answer[2])["imageDetails"]:
            name = request["imageIds"][0]
            message = f"The image with imageId {name} does not exist within the repository."
            body = json.dumps({"__type": "ImageNotFoundException", "message": message})
            return 400, {"Content-Type": "application/x-amz-json-1.1"}, body.encode()
        return answer

    engines.replace(MODULE, "_describe_images", describe_images)
