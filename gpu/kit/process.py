"""Processes with a time limit, and what the programs print: JSON lines with a field "what"."""

import json
import os
import queue
import signal
import subprocess
import threading
import time

from .result import NotDone


def last_line(text):
    lines = [t for t in text.strip().splitlines() if t.strip()]
    return lines[-1].strip() if lines else "it printed nothing"


def stop(proc, patience=10):
    """Ends a process: SIGINT first, then SIGKILL to its group. patience: s after each."""
    for sig in (signal.SIGINT, signal.SIGKILL):
        if proc.poll() is None:
            try:
                if sig == signal.SIGINT:
                    proc.send_signal(sig)
                else:
                    os.killpg(proc.pid, sig)
                proc.wait(patience)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass
    return proc.poll()


def run(args, limit, **more):
    """Runs a command to its end and returns a CompletedProcess; NotDone if it takes more than limit s."""
    with subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", start_new_session=True, **more) as proc:
        try:
            out, err = proc.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            stop(proc)
            raise NotDone(f"{os.path.basename(args[0])} took more than {limit:.0f} s") from None
    return subprocess.CompletedProcess(args, proc.returncode, out, err)


class Talk:
    """A running program and what it prints. `trace --json` sends the traced program's output to
    standard error, so both streams are read, each from its own pipe: in one, a line of the tracer
    could begin within a line of the program. Lines that are not JSON go to the log."""

    def __init__(self, args, log, **more):
        self.lines, self.said = queue.Queue(), []
        self.log = open(log, "w", errors="replace")
        self.log_path = log
        self.proc = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     text=True, errors="replace", bufsize=1, start_new_session=True, **more)
        self.reader = threading.Thread(target=self._read_both, daemon=True)
        self.reader.start()

    def _read_both(self):
        beside = threading.Thread(target=self._read, args=(self.proc.stderr,), daemon=True)
        beside.start()
        self._read(self.proc.stdout)
        beside.join()
        self.lines.put(None)

    def _read(self, stream):
        for line in stream:
            try:
                value = json.loads(line)
            except ValueError:
                value = None
            if isinstance(value, dict):
                self.lines.put(value)
            else:
                self.log.write(line)
                self.log.flush()

    def tell(self, line):
        try:
            self.proc.stdin.write(line + "\n")
            self.proc.stdin.flush()
        except OSError:
            raise NotDone("the program ended early: " + self.errors()) from None

    def wait_for(self, key, value, limit, instead=None):
        """The next line whose field key is value, or instead; NotDone after limit s."""
        end = time.monotonic() + limit
        while True:
            try:
                line = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise NotDone(f"the program did not report {value!r} within {limit:.0f} s: {self.errors()}") from None
            if line is None:
                raise NotDone(f"the program ended before it reported {value!r}: {self.errors()}")
            self.said.append(line)
            if line.get(key) in (value, instead or value):
                return line

    def finish(self, limit):
        """Waits for the end; returns the exit code. All lines are in said then. NotDone after limit s."""
        try:
            self.proc.stdin.close()
        except OSError:
            pass
        try:
            self.proc.wait(limit)
        except subprocess.TimeoutExpired:
            raise NotDone(f"the program did not end within {limit:.0f} s: {self.errors()}") from None
        self.reader.join(5)
        while not self.lines.empty():
            line = self.lines.get()
            if line is not None:
                self.said.append(line)
        return self.proc.returncode

    def errors(self):
        with open(self.log_path, errors="replace") as f:
            return last_line(f.read())

    def close(self):
        code = stop(self.proc)
        self.reader.join(5)
        if not self.reader.is_alive():
            self.log.close()
        return code
