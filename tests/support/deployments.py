"""Names and network of the deployments that tests synthesize beside that of cdk.json."""

# Two names that are similar on purpose.
PRIVATE_DEPLOYMENT = "team1-x"
EXISTING_DEPLOYMENT = "team1x"
EXISTING_NETWORK = {
    "vpc_id": "vpc-0123456789abcdef0",
    "subnet_id": "subnet-0123456789abcdef0",
    "availability_zone": "eu-west-1b",
}
