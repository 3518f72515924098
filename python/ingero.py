"""Labels for Ingero: tell a running `ingero trace --annotate` what this program works on.

One file without dependencies, for Python 3.8 and later: copy it beside your program.

    import ingero

    for epoch in range(10):
        ingero.set(epoch=epoch)
        for step, batch in enumerate(loader):
            ingero.set(step=step)
            train(batch)
        with ingero.label(phase="validation"):
            validate()

A label holds until its key is set again, for calls of all threads of the process. Nothing here raises an
error, blocks, or waits for the tracer: what cannot be sent is dropped and counted (`stats()`). Without
a tracer a call costs less than a microsecond; one that starts later is found within a second and gets the labels
that hold then. After a fork the child has its own connection, and the labels that it sets itself.

Frameworks: `LightningCallback()`, `TransformersCallback()`, `label_ray()`, `label_vllm()`; see
docs/labels.md.
"""

import contextlib as _contextlib
import functools as _functools
import json as _json
import os as _os
import re as _re
import socket as _socket
import threading as _threading
import time as _time

__all__ = ["set", "unset", "label", "labelled", "span", "steps", "stats", "close"]

SYSTEM = "/run/ingero/annotate.sock"  # of a tracer that is run by root
OWN = "~/.ingero/run/annotate.sock"  # of this user's own
RETRY = 1.0  # seconds between two looks for a tracer
BUFFER = 1 << 20  # bytes that a tracer may have to read
MAX_LABELS, MAX_VALUE = 32, 256  # of a line; bytes

_KEY = _re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
_CONTROL = _re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_encode = _json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class _Sender:
    """The connection of a process."""

    def __init__(self):
        self.lock = _threading.RLock()  # re-entrant: a signal handler may set a label, too
        self.sock = None
        self.retry = 0.0  # monotonic time of the next look for a tracer
        self.rest = b""  # of a line that was sent in part
        self.current = {}  # labels that hold
        self.missed = {}  # of these, those that the tracer does not know
        self.dropped = 0  # lines not sent since the last one that was
        self.totals = {"sent": 0, "dropped": 0, "refused": 0}

    def set(self, labels):
        labels = self.checked(labels)
        if not labels:
            return
        with self.lock:
            for key, value in labels.items():
                if value == "":
                    self.current.pop(key, None)
                elif key in self.current or len(self.current) < MAX_LABELS:
                    self.current[key] = value
            if self.sock is None and not self.connect():
                self.totals["dropped"] += 1
                return
            if self.missed:
                labels = dict(list({**self.missed, **labels}.items())[-MAX_LABELS:])
            if self.line({"labels": labels, "ts": _time.time_ns()}):
                self.missed = {}
            else:
                self.missed.update(labels)
                while len(self.missed) > MAX_LABELS:
                    del self.missed[next(iter(self.missed))]

    def span(self, labels, start, end):
        labels = self.checked(labels)
        if not labels:
            return
        with self.lock:
            if self.sock is None and not self.connect():
                self.totals["dropped"] += 1
                return
            self.line({"labels": labels, "span_start": int(start), "span_end": int(end)})

    def checked(self, labels):
        """The labels that can be sent, as JSON has them; None unsets."""
        ok = {}
        for key, value in labels.items():
            kind = type(value)
            if kind is not int and kind is not str:
                value = _plain(value)
            if value is None or type(key) is not str or not _KEY.match(key) or len(ok) == MAX_LABELS:
                self.totals["refused"] += 1
                continue
            if type(value) is str and value:
                value = _CONTROL.sub(" ", value)
                if len(value) > MAX_VALUE // 4:
                    value = value.encode()[:MAX_VALUE].decode("utf-8", "ignore")
            ok[key] = value
        return ok

    def line(self, line):
        """Send a line; False if there was no room for it."""
        if self.dropped:
            line["dropped"] = self.dropped
        data = self.rest + _encode(line).encode() + b"\n"
        try:
            n = self.sock.send(data, _socket.MSG_DONTWAIT | _socket.MSG_NOSIGNAL)
        except (BlockingIOError, InterruptedError):
            self.dropped += 1
            self.totals["dropped"] += 1
            return False
        except OSError:  # the tracer has ended
            self.disconnect()
            self.totals["dropped"] += 1
            return True  # a new one gets the labels that hold then
        if n < len(self.rest):  # this line has not begun, and its turn does not come
            self.rest = self.rest[n:]
            self.dropped += 1
            self.totals["dropped"] += 1
            return False
        self.rest = data[n:]
        self.dropped = 0
        self.totals["sent"] += 1
        return True

    def connect(self):
        now = _time.monotonic()
        if now < self.retry:
            return False
        self.retry = now + RETRY
        chosen = _os.environ.get("INGERO_ANNOTATE")
        for path in [chosen] if chosen else [SYSTEM, _os.path.expanduser(OWN)]:
            sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
            try:
                sock.setblocking(False)
                sock.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDBUF, BUFFER)  # cut to what the kernel allows
                sock.connect(path)
            except OSError:
                sock.close()
                continue
            self.sock, self.rest, self.dropped, self.missed = sock, b"", 0, dict(self.current)
            return True
        return False

    def disconnect(self):
        if self.sock is not None:
            self.sock.close()
        self.sock, self.rest, self.dropped, self.missed = None, b"", 0, {}


def _plain(value):
    """A value as JSON has it. None for what could take long to ask, such as a tensor on a GPU."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(float(value))  # no infinity, no NaN
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return str(value)
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        return _plain(value.item())
    return None


_sender = _Sender()


def _forked():
    """A child is another process: the parent's connection is closed in it, and its labels are forgotten."""
    global _sender
    old, _sender = _sender, _Sender()
    if old.sock is not None:
        old.sock.close()


_os.register_at_fork(after_in_child=_forked)


def set(**labels):
    """Set labels from now on, until they are set again: set(step=120, epoch=3). None or "" unsets."""
    try:
        _sender.set(labels)
    except Exception:  # a label is not worth an error
        pass


def unset(*keys):
    """Unset labels."""
    set(**dict.fromkeys(keys))


def span(start, end, **labels):
    """Label a time that has passed, from and to times of time.time_ns()."""
    try:
        _sender.span(labels, start, end)
    except Exception:
        pass


@_contextlib.contextmanager
def label(**labels):
    """Set labels for a block; then they have the values that they had before."""
    before = {key: _sender.current.get(key) for key in labels}
    set(**labels)
    try:
        yield
    finally:
        set(**before)


def labelled(**labels):
    """Decorate a function: its calls have the labels."""

    def decorate(f):
        @_functools.wraps(f)
        def wrapper(*args, **kwargs):
            with label(**labels):
                return f(*args, **kwargs)

        return wrapper

    return decorate


def steps(iterable, key="step", start=0):
    """Iterate, and label each step with its number. The time to get an item is the step's own."""
    iterator, n = iter(iterable), start
    while True:
        set(**{key: n})
        try:
            item = next(iterator)
        except StopIteration:
            set(**{key: None})
            return
        yield item
        n += 1


def stats():
    """How many lines were sent and dropped, and labels refused here, and whether a tracer is connected."""
    return dict(_sender.totals, connected=_sender.sock is not None)


def close():
    """End the connection. The next label opens another one."""
    with _sender.lock:
        _sender.disconnect()
        _sender.retry = 0.0
