"""`python -m tools.local_cloud`."""

import sys

from tools.local_cloud.cli import main

sys.exit(main())
