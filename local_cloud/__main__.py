"""`python -m local_cloud`."""

import sys

from local_cloud.cli import main

sys.exit(main())
