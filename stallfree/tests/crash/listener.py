"""System calls of a process are passed to another one first (seccomp's user notification, Linux 5.5 and newer)."""

import contextlib
import ctypes
import fcntl
import os
import platform
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# Linux calls by family: their numbers, and which argument is the file (a descriptor) or the new name (an address).
_CALLS = {
    "x86_64": {
        "write": {1: 0, 18: 0, 20: 0, 296: 0},
        "fsync": {74: 0, 75: 0},
        "rename": {82: 1, 264: 3, 316: 3},
        "seccomp": {317: 0},
    },
    "aarch64": {
        "write": {64: 0, 68: 0, 66: 0, 70: 0},
        "fsync": {82: 0, 83: 0},
        "rename": {38: 3, 276: 3},
        "seccomp": {277: 0},
    },
}[platform.machine()]
_HEARD = {number: (name, at) for name in ("write", "fsync", "rename") for number, at in _CALLS[name].items()}

_PR_SET_NO_NEW_PRIVS, _SET_MODE_FILTER, _NEW_LISTENER = 38, 1, 8
_LOAD_NUMBER, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ASK = 0x7FFF0000, 0x7FC00000
_RECEIVE, _SEND, _GO_ON = 0xC0502100, 0xC0182101, 1
_REQUEST, _ANSWER = "QIIiIQ6Q", "QqiI"

_libc = ctypes.CDLL(None, use_errno=True)


class _Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("value", ctypes.c_uint)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction))]


@dataclass(frozen=True)
class Call:
    """A write, an fsync or a rename that a process is about to make."""

    name: str
    path: Path
    identity: int
    process: int


def fork_watched(work: Callable[[], None]) -> tuple[int, int]:
    """Begin the work in a process of its own; its id, and the descriptor that its calls are read from."""
    ours, its = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            listener = _listener()
            socket.send_fds(its, [b"."], [listener])
            os.close(listener)
            work()
        finally:
            os._exit(0)
    its.close()
    _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    ours.close()
    if not descriptors:
        raise OSError("This kernel lets no process intercept another's calls (seccomp user notification).")
    return child, descriptors[0]


def receive(listener: int) -> Call | None:
    """The next call; None if the process that made it is gone."""
    request = bytearray(struct.calcsize(_REQUEST))
    try:
        fcntl.ioctl(listener, _RECEIVE, request)
        identity, process, _, number, _, _, *arguments = struct.unpack(_REQUEST, request)
        name, at = _HEARD[number]
        path = _name_at(process, arguments[at]) if name == "rename" else _file_of(process, arguments[at])
    except (FileNotFoundError, ProcessLookupError):
        return None
    return Call(name, path, identity, process)


def answer(listener: int, call: Call, error: int | None) -> None:
    """Let the call go on, or make it fail."""
    reply = struct.pack(_ANSWER, call.identity, 0, -(error or 0), 0 if error else _GO_ON)
    with contextlib.suppress(FileNotFoundError):  # Its process is gone.
        fcntl.ioctl(listener, _SEND, reply)


def _listener() -> int:
    jumps = [_Instruction(_JUMP_IF_EQUAL, len(_HEARD) - at, 0, number) for at, number in enumerate(_HEARD)]
    code = [_Instruction(_LOAD_NUMBER, 0, 0, 0), *jumps, _Instruction(_RETURN, 0, 0, _ALLOW)]
    code.append(_Instruction(_RETURN, 0, 0, _ASK))
    program = _Program(len(code), (_Instruction * len(code))(*code))
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    (seccomp,) = _CALLS["seccomp"]
    descriptor: int = _libc.syscall(seccomp, _SET_MODE_FILTER, _NEW_LISTENER, ctypes.byref(program))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return descriptor


def _file_of(process: int, descriptor: int) -> Path:
    return Path(f"/proc/{process}/fd/{descriptor}").readlink()


def _name_at(process: int, address: int) -> Path:
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        return Path(os.fsdecode(memory.read(4096).split(b"\0", 1)[0]))
