"""torchrun, except that its exit code is its worker's: torchrun itself ends with 1 whatever the worker died of."""

import sys

from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.run import parse_args, run


def main(arguments: list[str]) -> int:
    try:
        run(parse_args(arguments))  # type: ignore[no-untyped-call]
    except ChildFailedError as failed:
        _, first = failed.get_first_failure()
        print(f"Process {first.local_rank} ended with {first.exitcode}.", file=sys.stderr)
        return first.exitcode if first.exitcode > 0 else 128 - first.exitcode
    except SignalException as stopped:
        return 128 + stopped.sigval
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
