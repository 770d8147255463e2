"""Several processes that compute one run: they must be asked the same, and end after the same sweep."""

import hashlib

from pfn.engines import said_everywhere, several_processes
from pfn.errors import OptionError
from pfn.solve.checkpoints import Checkpoint
from pfn.solve.request import Request


def check_same(request: Request, checkpoint: Checkpoint) -> None:
    """Refuse a run whose processes were given different things: they would wait for each other, or mix them."""
    if not several_processes(request.mesh):
        return
    options = (request.iterations, request.tolerance, request.stall, request.measure, request.precision)
    files = (request.checkpoint is None, request.checkpoint_every, request.resume is None)
    asked = {
        "network, data, starting values, weights, method, seed and dtype": checkpoint.fingerprint,
        "iterations, tolerance, stall, measure, precision and checkpoint_every, and a callback, a checkpoint and a "
        "checkpoint to resume, or none": repr((options, files, request.callback is None)),
    }
    for what, value in asked.items():
        number = int.from_bytes(hashlib.blake2b(value.encode(), digest_size=6).digest())
        if len({*said_everywhere(request.mesh, number)}) > 1:
            raise OptionError(f"mesh: its processes were given different things. Give all of them the same {what}.")


class Ending:
    """Whether a run was asked to end, here or in another of its processes, in all of them after the same sweep."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self.interrupted = False

    def asked(self, *, here: bool = False) -> bool:
        """Whether a callback said so in any process, given what it said in this one; Ctrl-C is looked at, too."""
        said = said_everywhere(self._request.mesh, here + 2 * self._request.interruption.requested)
        self.interrupted = any(number & 2 for number in said)
        self._request.interruption.requested |= self.interrupted
        return any(number & 1 for number in said)
