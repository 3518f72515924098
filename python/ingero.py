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
a tracer a call costs a few microseconds; one that starts later is found within a second and gets the labels
that hold then. After a fork the child has its own connection, and the labels that it sets itself.

Frameworks: `Trainer(callbacks=[ingero.lightning()])` for PyTorch Lightning, `Trainer(callbacks=[ingero.transformers()])`
for Hugging Face, `@ray.remote @ingero.ray` for Ray.
`LLM(..., worker_cls="ingero.VLLMWorker")` or `vllm serve --worker-cls ingero.VLLMWorker` for vLLM.
"""

import contextlib as _contextlib
import functools as _functools
import json as _json
import os as _os
import re as _re
import socket as _socket
import threading as _threading
import time as _time

__all__ = ["set", "unset", "label", "labelled", "span", "steps", "stats", "close", "lightning", "transformers", "ray",
           "vllm"]

SYSTEM = "/run/ingero/annotate.sock"  # of a tracer that is run by root
OWN = "~/.ingero/run/annotate.sock"  # of this user's own
RETRY = 1.0  # seconds between two looks for a tracer
BUFFER = 1 << 20  # bytes that a tracer may have to read
MAX_LABELS, MAX_VALUE = 32, 256  # of a line; bytes

_KEY = _re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
_CONTROL = _re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_FLAGS = _socket.MSG_DONTWAIT | _socket.MSG_NOSIGNAL
_NONE = '""'  # the value of a key that is unset
_quote = _json.encoder.encode_basestring_ascii
_time_ns = _time.time_ns


class _Sender:
    """The connection of a process. Labels are kept as JSON has them: texts by key."""

    def __init__(self):
        self.lock = _threading.RLock()  # re-entrant: a signal handler may set a label, too
        self.sock = None
        self.retry = 0.0  # monotonic time of the next look for a tracer
        self.rest = b""  # of a line that was sent in part
        self.current = {}  # labels that hold
        self.missed = {}  # of these, those that the tracer does not know
        self.unsent = 0  # lines not sent since the last one that was
        self.sent = self.dropped = self.refused = 0
        self.keys = {}  # that were found to be ones, as a line has them: '"step":'

    def texts(self, labels):
        """The labels that can be sent, as JSON has them."""
        ok = {}
        for key, value in labels.items():
            kind = type(value)
            text = str(value) if kind is int else _text(value)
            if text is None or key not in self.keys and not self.is_key(key) or len(ok) == MAX_LABELS:
                self.refused += 1
            else:
                ok[key] = text
        return ok

    def is_key(self, key):
        if type(key) is not str or not _KEY.match(key):
            return False
        if len(self.keys) < 256:
            self.keys[key] = '"%s":' % key
        return True

    def now(self, labels):
        """Set labels, given as values. The usual case costs little: whole numbers for keys that were set before."""
        with self.lock:
            current, keys, parts = self.current, self.keys, []
            if self.sock is None or self.rest or self.unsent or self.missed:
                return self.set(self.texts(labels))
            for key, value in labels.items():
                if type(value) is not int or key not in current or key not in keys:
                    return self.set(self.texts(labels))
                text = current[key] = str(value)
                parts.append(keys[key] + text)
            if not parts:
                return
            data = ('{"labels":{' + ",".join(parts) + '},"ts":' + str(_time_ns()) + "}\n").encode()
            try:
                self.rest = data[self.sock.send(data, _FLAGS):]
                self.sent += 1
            except OSError:  # it is tried once more, with what is to be done then
                self.set(self.texts(labels))

    def set(self, labels):
        """Set labels, given as texts; send them, and those that were missed; keep them if there is no room."""
        if not labels:
            return
        with self.lock:
            for key, text in labels.items():
                if text == _NONE:
                    self.current.pop(key, None)
                elif key in self.current or len(self.current) < MAX_LABELS:
                    self.current[key] = text
            if self.sock is None and not self.connect():
                self.dropped += 1
                return
            if self.missed:
                labels = dict(list({**self.missed, **labels}.items())[-MAX_LABELS:])
            if self.line(labels, '"ts":%d' % _time_ns()):
                self.missed = {}
                return
            self.missed.update(labels)
            while len(self.missed) > MAX_LABELS:
                del self.missed[next(iter(self.missed))]

    def span(self, labels, start, end):
        if not labels:
            return
        with self.lock:
            if self.sock is None and not self.connect():
                self.dropped += 1
                return
            self.line(labels, '"span_start":%d,"span_end":%d' % (start, end))

    def line(self, labels, when):
        """Send a line; False if there was no room for it."""
        if self.unsent:
            when += ',"dropped":%d' % self.unsent
        line = '{"labels":{%s},%s}\n' % (",".join(['"%s":%s' % label for label in labels.items()]), when)
        data = line.encode()
        if self.rest:
            data = self.rest + data
        try:
            n = self.sock.send(data, _FLAGS)
        except (BlockingIOError, InterruptedError):
            n = -1
        except OSError:  # the tracer has ended
            self.disconnect()
            self.dropped += 1
            return True  # a new one gets the labels that hold then
        if n < len(self.rest) or n < 0:  # this line has not begun, and its turn does not come
            self.rest = self.rest[max(n, 0):]
            self.unsent += 1
            self.dropped += 1
            return False
        self.rest = data[n:]
        self.unsent = 0
        self.sent += 1
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
            self.sock, self.rest, self.unsent, self.missed = sock, b"", 0, dict(self.current)
            return True
        return False

    def disconnect(self):
        if self.sock is not None:
            self.sock.close()
        self.sock, self.rest, self.unsent, self.missed = None, b"", 0, {}


def _text(value):
    """A value as JSON has it. None for what could take long to ask, such as a tensor on a GPU."""
    if value is None:
        return _NONE
    if isinstance(value, str):
        value = _CONTROL.sub(" ", value)
        if len(value) > MAX_VALUE // 4:
            value = value.encode()[:MAX_VALUE].decode("utf-8", "ignore")
        return _quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        value = float(value)
        return repr(value) if value - value == 0 else '"%r"' % value  # infinity, NaN
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        return _text(value.item())
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
        _sender.now(labels)
    except Exception:  # a label is not worth an error
        pass


def unset(*keys):
    """Unset labels."""
    set(**dict.fromkeys(keys))


def span(start, end, **labels):
    """Label a time that has passed, from and to times of time.time_ns()."""
    try:
        _sender.span(_sender.texts(labels), start, end)
    except Exception:
        pass


@_contextlib.contextmanager
def label(**labels):
    """Set labels for a block; then they have the values that they had before."""
    before = {}
    try:
        texts = _sender.texts(labels)
        before = {key: _sender.current.get(key, _NONE) for key in texts}
        _sender.set(texts)
    except Exception:
        pass
    try:
        yield
    finally:
        try:
            _sender.set(before)
        except Exception:
            pass


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
    s = _sender
    return {"sent": s.sent, "dropped": s.dropped, "refused": s.refused, "connected": s.sock is not None}


def close():
    """End the connection. The next label opens another one."""
    with _sender.lock:
        _sender.disconnect()
        _sender.retry = 0.0


def lightning():
    """A callback for PyTorch Lightning's Trainer: epoch, step and phase.

    The wait for a batch belongs to the step that it is for. With gradient accumulation a step has several batches.
    """
    try:
        from lightning.pytorch.callbacks import Callback
    except ImportError:
        from pytorch_lightning.callbacks import Callback

    class Labels(Callback):
        def on_train_epoch_start(self, trainer, pl_module):
            set(epoch=trainer.current_epoch, step=trainer.global_step, phase="train")

        def on_train_batch_end(self, trainer, *args, **kwargs):
            set(step=trainer.global_step)

        def on_validation_start(self, trainer, pl_module):
            set(phase="sanity check" if trainer.sanity_checking else "validation")

        def on_validation_end(self, trainer, pl_module):
            set(phase="train" if trainer.state.fn == "fit" and not trainer.sanity_checking else None)

        def on_test_start(self, trainer, pl_module):
            set(phase="test")

        def on_predict_start(self, trainer, pl_module):
            set(phase="predict")

        def on_train_epoch_end(self, trainer, pl_module):
            set(phase=None)

        def teardown(self, trainer, pl_module, stage):
            unset("epoch", "step", "phase")

    return Labels()


def transformers():
    """A callback for the Trainer of Hugging Face's transformers: epoch, step and phase.

    The wait for a batch belongs to the step that it is for. Evaluation has the phase from its first batch on.
    """
    from transformers import TrainerCallback

    class Labels(TrainerCallback):
        def on_epoch_begin(self, args, state, control, **kwargs):
            set(epoch=int(state.epoch or 0), step=state.global_step, phase="train")

        def on_step_end(self, args, state, control, **kwargs):
            set(step=state.global_step)

        def on_prediction_step(self, args, state, control, **kwargs):
            if _sender.current.get("phase") != '"evaluation"':
                set(phase="evaluation")

        def on_evaluate(self, args, state, control, **kwargs):
            set(phase="train" if "epoch" in _sender.current else None)

        on_predict = on_evaluate

        def on_train_end(self, args, state, control, **kwargs):
            unset("epoch", "step", "phase")

    return Labels()


def ray(f):
    """Decorate a Ray task or a method of an actor, below @ray.remote: task, its name, and task_id."""

    @_functools.wraps(f)
    def wrapper(*args, **kwargs):
        labels = {"task": f.__name__}
        try:
            from ray import get_runtime_context

            context = get_runtime_context()
            labels["task_id"] = context.get_task_id()
            labels["job_id"] = context.get_job_id()
        except Exception:  # outside of Ray
            pass
        with label(**labels):
            return f(*args, **kwargs)

    return wrapper


def vllm(worker=None):
    """A class of vLLM's worker that sets labels: step, phase, requests and tokens, as scheduled for a step.

    worker is the class that is extended: else the platform's own. `ingero.VLLMWorker` is this for the latter.
    """
    # The worker is where vLLM's calls of CUDA are made, and its class is a setting. vLLM takes no worker extension
    # that replaces a method, its plugins have to be installed, and its statistics are those of another process.
    if worker is None:
        worker = _vllm_worker()

    class VLLMWorker(worker):
        _ingero_step = 0  # the number of the next step
        _ingero_warming = False  # which executes made-up steps, too

        def compile_or_warm_up_model(self, *args, **kwargs):
            self._ingero_warming = True
            try:
                with label(phase="warm-up"):
                    return super().compile_or_warm_up_model(*args, **kwargs)
            finally:
                self._ingero_warming = False

        def execute_model(self, scheduler_output, *args, **kwargs):
            if not self._ingero_warming:
                self._ingero_label(scheduler_output)
            return super().execute_model(scheduler_output, *args, **kwargs)

        def _ingero_label(self, scheduled):
            try:
                if not scheduled.total_num_scheduled_tokens:  # the last request has ended
                    unset("step", "phase", "requests", "tokens")
                    return
                step, self._ingero_step = self._ingero_step, self._ingero_step + 1
                set(step=step, phase=_vllm_phase(scheduled), requests=len(scheduled.num_scheduled_tokens),
                    tokens=scheduled.total_num_scheduled_tokens)
            except Exception:  # a version of vLLM that describes a step otherwise
                pass

    VLLMWorker.__module__, VLLMWorker.__qualname__ = __name__, "VLLMWorker"
    return VLLMWorker


def _vllm_worker():
    """vLLM's own worker for this platform, as its platforms choose for "auto"."""
    from importlib import import_module

    from vllm.platforms import current_platform

    for name, path in (("is_cpu", "cpu_worker.CPUWorker"), ("is_xpu", "xpu_worker.XPUWorker"),
                       ("is_cuda_alike", "gpu_worker.Worker")):
        if getattr(current_platform, name)():
            module, cls = path.split(".")
            return getattr(import_module("vllm.v1.worker." + module), cls)
    raise AttributeError("ingero.VLLMWorker: no worker is known for vLLM's platform %s; in a module of your own, "
                         "set W = ingero.vllm(its worker), and give W as worker_cls" % current_platform.device_name)


def _vllm_phase(scheduled):
    """prefill, decode or mixed, of a scheduler's output. A request that was preempted is prefilled again."""
    old, tokens = scheduled.scheduled_cached_reqs, scheduled.num_scheduled_tokens
    drafts = {key: len(ids) for key, ids in (scheduled.scheduled_spec_decode_tokens or {}).items()}
    prefill = len(scheduled.scheduled_new_reqs)
    none = [key for key, n in zip(old.req_ids, getattr(old, "num_output_tokens", ())) if n == 0]  # a later chunk
    if none or scheduled.total_num_scheduled_tokens != len(tokens) + sum(drafts.values()):
        none = frozenset(none)
        prefill += sum(key in none or tokens.get(key, 0) > 1 + drafts.get(key, 0) for key in old.req_ids)
    return "decode" if prefill == 0 else "prefill" if prefill == len(tokens) else "mixed"


def __getattr__(name):
    """VLLMWorker is made when vLLM asks for it: nothing here imports vLLM before."""
    if name != "VLLMWorker":
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    globals()[name] = cls = vllm()
    return cls
