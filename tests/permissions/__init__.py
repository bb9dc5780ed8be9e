"""What every role may do, asked of a simulator of IAM: the calls that runs made, and the whole matrix."""
