"""A stack that needs what Belay's stacks need, and no more, so that the local cloud is tested by itself."""

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn

HERE = Path(__file__).parent


class Data(cdk.Stack):
    """What outlives a run."""

    def __init__(self, scope: cdk.App, name: str) -> None:
        super().__init__(scope, name)
        key = kms.Key(self, "Key", enable_key_rotation=True, removal_policy=cdk.RemovalPolicy.DESTROY)
        self.topic = sns.Topic(self, "Alerts", master_key=key)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            versioned=True,
            enforce_ssl=True,
            removal_policy=cdk.RemovalPolicy.DESTROY,
            lifecycle_rules=[s3.LifecycleRule(prefix="tmp/", expiration=cdk.Duration.days(3))],
        )


class Training(cdk.Stack):
    """Network, capacity, trainer, probe, flow, and the rules that react to its end."""

    def __init__(self, scope: cdk.App, name: str, *, data: Data) -> None:
        super().__init__(scope, name)
        vpc = ec2.Vpc(
            self,
            "Vpc",
            max_azs=1,
            nat_gateways=1,
            gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
        )
        vpc.add_interface_endpoint("Fsx", service=ec2.InterfaceVpcEndpointAwsService("fsx"))
        scratch = ec2.SecurityGroup(self, "Scratch", vpc=vpc, allow_all_outbound=False)
        scratch.add_ingress_rule(scratch, ec2.Port.tcp(988))
        scratch.add_egress_rule(scratch, ec2.Port.tcp_range(1018, 1023))
        cluster, provider = self._capacity(vpc, scratch)
        trainer = self._trainer()
        probe = self._probe()
        flow = self._flow(data, vpc, scratch, cluster, provider, trainer, probe)
        self._listen(flow, probe)
        cloudwatch.Dashboard(self, "Dashboard", widgets=[[cloudwatch.GraphWidget(left=[flow.metric_failed()])]])
        cloudwatch.Alarm(self, "Alarm", metric=flow.metric_failed(), threshold=1, evaluation_periods=1)
        for output, value in {
            "Flow": flow.state_machine_arn,
            "Bucket": data.bucket.bucket_name,
            "Cluster": cluster.cluster_name,
            "Provider": provider.capacity_provider_name,
            "TaskDefinition": trainer.task_definition_arn,
            "Probe": probe.function_name,
            "Subnet": vpc.private_subnets[0].subnet_id,
            "Logs": self.log_group.log_group_name,
        }.items():
            cdk.CfnOutput(self, f"{output}Output", value=value).override_logical_id(output)

    def _capacity(self, vpc: ec2.Vpc, scratch: ec2.SecurityGroup) -> tuple[ecs.Cluster, ecs.AsgCapacityProvider]:
        cluster = ecs.Cluster(self, "Cluster", vpc=vpc)
        template = ec2.LaunchTemplate(
            self,
            "Template",
            instance_type=ec2.InstanceType("g5.xlarge"),
            machine_image=ecs.EcsOptimizedImage.amazon_linux2023(ecs.AmiHardwareType.GPU),
            role=iam.Role(self, "Machine", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com")),
            user_data=ec2.UserData.for_linux(),
            security_group=scratch,
            require_imdsv2=True,
        )
        group = autoscaling.AutoScalingGroup(
            self, "Machines", vpc=vpc, launch_template=template, min_capacity=0, max_capacity=2
        )
        provider = ecs.AsgCapacityProvider(
            self, "Provider", auto_scaling_group=group, enable_managed_termination_protection=False
        )
        cluster.add_asg_capacity_provider(provider)
        return cluster, provider

    def _trainer(self) -> ecs.Ec2TaskDefinition:
        self.log_group = logs.LogGroup(
            self, "Logs", retention=logs.RetentionDays.ONE_WEEK, removal_policy=cdk.RemovalPolicy.DESTROY
        )
        logs.MetricFilter(
            self,
            "Saved",
            log_group=self.log_group,
            metric_namespace="Fixture",
            metric_name="Saved",
            filter_pattern=logs.FilterPattern.string_value("$.kind", "=", "saved"),
        )
        definition = ecs.Ec2TaskDefinition(self, "Trainer", network_mode=ecs.NetworkMode.HOST)
        definition.add_container(
            "trainer",
            image=ecs.ContainerImage.from_asset(str(HERE / "trainer")),
            memory_limit_mib=1024,
            stop_timeout=cdk.Duration.seconds(120),
            logging=ecs.LogDrivers.aws_logs(stream_prefix="run", log_group=self.log_group),
        )
        return definition

    def _probe(self) -> lambda_.Function:
        layer = lambda_.LayerVersion.from_layer_version_arn(
            self,
            "Powertools",
            "arn:aws:lambda:us-east-1:017000801446:layer:AWSLambdaPowertoolsPythonV3-python312-arm64:34",
        )
        probe = lambda_.Function(
            self,
            "Probe",
            runtime=lambda_.Runtime.PYTHON_3_12,
            architecture=lambda_.Architecture.ARM_64,
            handler="probe.handler",
            code=lambda_.Code.from_asset(str(HERE / "functions")),
            timeout=cdk.Duration.seconds(30),
            layers=[layer],
            environment={"DEPLOYMENT": self.node.try_get_context("deployment") or "fixture"},
        )
        probe.add_to_role_policy(
            iam.PolicyStatement(actions=["fsx:DescribeFileSystems"], resources=["*"]),
        )
        return probe

    def _flow(
        self,
        data: Data,
        vpc: ec2.Vpc,
        scratch: ec2.SecurityGroup,
        cluster: ecs.Cluster,
        provider: ecs.AsgCapacityProvider,
        trainer: ecs.Ec2TaskDefinition,
        probe: lambda_.Function,
    ) -> sfn.StateMachine:
        flow = sfn.StateMachine(
            self,
            "Flow",
            definition_body=sfn.DefinitionBody.from_file(str(HERE / "flow.asl.json")),
            definition_substitutions={
                "Subnet": vpc.private_subnets[0].subnet_id,
                "SecurityGroup": scratch.security_group_id,
                "Probe": probe.function_arn,
                "Bucket": data.bucket.bucket_name,
                "Cluster": cluster.cluster_arn,
                "CapacityProvider": provider.capacity_provider_name,
                "TaskDefinition": trainer.task_definition_arn,
            },
        )
        probe.grant_invoke(flow)
        arn = f"arn:aws:fsx:{self.region}:{self.account}"
        mine = {"StringEquals": {"aws:ResourceTag/belay:deployment": "fixture"}}
        born_mine = {"StringEquals": {"aws:RequestTag/belay:deployment": "fixture"}}
        in_cluster = {"ArnEquals": {"ecs:cluster": cluster.cluster_arn}}
        to_tasks = {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}
        roles = [trainer.task_role.role_arn, trainer.obtain_execution_role().role_arn]
        for actions, resources, conditions in (
            (["fsx:CreateFileSystem", "fsx:TagResource"], [f"{arn}:file-system/*"], born_mine),
            (["fsx:DeleteFileSystem"], [f"{arn}:file-system/*"], mine),
            (["fsx:CreateDataRepositoryAssociation"], [f"{arn}:file-system/*"], mine),
            (["fsx:CreateDataRepositoryAssociation"], [f"{arn}:association/*"], {}),
            # FSx asks this of who links a bucket.
            (
                ["s3:Get*", "s3:List*", "s3:PutObject"],
                [data.bucket.bucket_arn, f"{data.bucket.bucket_arn}/*"],
                {},
            ),
            # And this, for the role that it makes itself for the buckets.
            (
                ["iam:CreateServiceLinkedRole", "iam:AttachRolePolicy", "iam:PutRolePolicy"],
                [f"arn:aws:iam::{self.account}:role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/*"],
                {},
            ),
            (["fsx:CreateDataRepositoryTask"], [f"{arn}:file-system/*"], mine),
            (["fsx:CreateDataRepositoryTask"], [f"{arn}:task/*"], {}),
            (["fsx:DescribeDataRepositoryTasks"], ["*"], {}),
            (["ecs:RunTask"], [trainer.task_definition_arn], in_cluster),
            (["ecs:StopTask", "ecs:DescribeTasks"], ["*"], in_cluster),
            (["iam:PassRole"], roles, to_tasks),
        ):
            flow.add_to_role_policy(iam.PolicyStatement(actions=actions, resources=resources, conditions=conditions))
        return flow

    def _listen(self, flow: sfn.StateMachine, probe: lambda_.Function) -> None:
        lost = sqs.Queue(self, "Lost", enforce_ssl=True)
        echo = sfn.StateMachine(
            self, "Echo", definition_body=sfn.DefinitionBody.from_chainable(sfn.Succeed(self, "Heard"))
        )
        events.Rule(
            self,
            "Ended",
            event_pattern=events.EventPattern(
                source=["aws.states"],
                detail_type=["Step Functions Execution Status Change"],
                detail={
                    "stateMachineArn": [flow.state_machine_arn],
                    "status": ["SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"],
                },
            ),
            targets=[
                targets.SfnStateMachine(
                    echo,
                    dead_letter_queue=lost,
                    input=events.RuleTargetInput.from_object(
                        {
                            "execution_arn": events.EventField.from_path("$.detail.executionArn"),
                            "status": events.EventField.from_path("$.detail.status"),
                            "stopped_at": events.EventField.from_path("$.detail.stopDate"),
                        }
                    ),
                )
            ],
        )
        events.Rule(
            self,
            "EachMinute",
            schedule=events.Schedule.rate(cdk.Duration.minutes(1)),
            targets=[targets.LambdaFunction(probe, event=events.RuleTargetInput.from_object({"tick": True}))],
        )
        cdk.CfnOutput(self, "EchoOutput", value=echo.state_machine_arn).override_logical_id("Echo")


app = cdk.App()
Training(app, "Training", data=Data(app, "Data"))
app.synth()
