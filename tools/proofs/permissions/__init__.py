"""What every role may do, by a simulator of IAM: the calls that runs made, and a matrix of roles and actions."""
