"""What others may do with the cluster, each statement held to this cluster alone."""

from aws_cdk import Stack
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam


class Grants:
    def __init__(self, cluster: ecs.ICluster) -> None:
        self._cluster = cluster
        self._stack = Stack.of(cluster)
        self.any_task_arn = self._stack.format_arn(
            service="ecs", resource="task", resource_name=f"{cluster.cluster_name}/*"
        )

    def stop_tasks(self) -> iam.PolicyStatement:
        return self._on_tasks("ecs:StopTask")

    def describe_tasks(self) -> iam.PolicyStatement:
        return self._on_tasks("ecs:DescribeTasks")

    def list_tasks(self) -> iam.PolicyStatement:
        return iam.PolicyStatement(
            actions=["ecs:ListTasks"], resources=["*"], conditions={"ArnEquals": self._in_this_cluster()}
        )

    def list_instances(self) -> iam.PolicyStatement:
        return iam.PolicyStatement(actions=["ecs:ListContainerInstances"], resources=[self._cluster.cluster_arn])

    def run(self, task: ecs.TaskDefinition, *, family: str) -> list[iam.PolicyStatement]:
        execution_role = task.obtain_execution_role()
        return [
            iam.PolicyStatement(
                actions=["ecs:RunTask"],
                # Any revision: a run that was under way at an update tries again with the one it began with.
                resources=[
                    self._stack.format_arn(service="ecs", resource="task-definition", resource_name=f"{family}:*")
                ],
                conditions={"ArnEquals": self._in_this_cluster()},
            ),
            self.stop_tasks(),
            self.describe_tasks(),
            iam.PolicyStatement(
                actions=["iam:PassRole"],
                resources=[task.task_role.role_arn, execution_role.role_arn],
                conditions={"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
            ),
            # Step Functions learns that a task ended through a rule of this name, which it manages itself.
            iam.PolicyStatement(
                actions=["events:PutTargets", "events:PutRule", "events:DescribeRule"],
                resources=[
                    self._stack.format_arn(
                        service="events", resource="rule", resource_name="StepFunctionsGetEventsForECSTaskRule"
                    )
                ],
            ),
        ]

    def _on_tasks(self, action: str) -> iam.PolicyStatement:
        return iam.PolicyStatement(
            actions=[action], resources=[self.any_task_arn], conditions={"ArnEquals": self._in_this_cluster()}
        )

    def _in_this_cluster(self) -> dict[str, str]:
        return {"ecs:cluster": self._cluster.cluster_arn}
