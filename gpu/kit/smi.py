"""Samples nvidia-smi while the tracer runs, and compares its answers with the recording's."""

import shutil
import statistics
import subprocess
import threading
import time

from .result import NotDone

FIELDS = {"index": "", "uuid": "", "name": "", "driver_version": "", "memory.used": "mem_used_mb",
          "temperature.gpu": "temp_c", "utilization.gpu": "util_pct", "clocks.sm": "clock_mhz", "power.draw": "power_w"}

# How far the medians may differ. Both ask NVML, but not at the same time: the driver updates its
# readings every 0.1 to 1 s, and those of utilization and power are means over up to a second.
APART = {"mem_used_mb": 64, "temp_c": 3, "util_pct": 15, "clock_mhz": 100, "power_w": 25}


class Samples:
    """nvidia-smi's rows, about two a second, within a with statement."""

    def __init__(self):
        self.rows, self.why, self.stopped = [], "", threading.Event()
        self.thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join(15)

    def _sample(self):
        if not shutil.which("nvidia-smi"):
            self.why = "nvidia-smi not found"
            return
        ask = ["nvidia-smi", "--query-gpu=" + ",".join(FIELDS), "--format=csv,noheader,nounits"]
        while not self.stopped.wait(0.3):
            try:
                done = subprocess.run(ask, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=10)
            except (OSError, subprocess.TimeoutExpired) as e:
                self.why = f"nvidia-smi: {e}"
                return
            text = done.stdout.decode(errors="replace").strip()
            if done.returncode != 0:
                code = f"nvidia-smi exited with {done.returncode}"
                self.why = "nvidia-smi: " + text.splitlines()[0] if text else code
                return
            for line in text.splitlines():
                values = [v.strip() for v in line.split(",")]
                if len(values) == len(FIELDS):
                    self.rows.append({"at": time.time(), **dict(zip(FIELDS, values))})


def number(text):
    try:
        return float(text)
    except ValueError:
        return None  # "[N/A]"


def middle(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def compare(recorded, gpus, samples, result):
    """recorded: gpu_snapshots of the load; gpus: the recorded GPUs, with id and UUID."""
    result.facts = {"gpus": [], "readings": len(recorded), "nvidia_smi": samples.why or f"{len(samples.rows)} rows"}
    if not samples.rows:
        also = f"; the recording has {len(recorded)} readings of {len(gpus)} GPUs"
        raise NotDone((samples.why or "nvidia-smi printed nothing") + also)
    if not recorded:
        result.judge(["nvidia-smi has readings, and the recording has none"], "")
        return
    wrong = []
    for gpu in gpus:
        theirs = [r for r in samples.rows if r["uuid"] == gpu["uuid"]]
        mine = [t for t in recorded if t["gpu_id"] == gpu["gpu_id"]]
        if not theirs or not mine:
            wrong.append(f"GPU {gpu['gpu_id']} ({gpu['uuid']}) is missing in the recording or in nvidia-smi's answers")
            continue
        fact = {"gpu": gpu["gpu_id"], "name": gpu["name"], "recorded": {}, "nvidia_smi": {}}
        for field, column in (("name", "name"), ("driver_version", "driver_version")):
            if theirs[0][field] != gpu[column]:
                wrong.append(f"{field}: nvidia-smi {theirs[0][field]}, recorded {gpu[column]}")
        for field, column in FIELDS.items():
            if not column:
                continue
            a, b = middle([t[column] for t in mine]), middle([number(r[field]) for r in theirs])
            fact["recorded"][column], fact["nvidia_smi"][column] = a, b
            result.lines.append(f"GPU {gpu['gpu_id']} {column:<12} recorded {a}, nvidia-smi {b}")
            if (a is None) != (b is None) or a is not None and abs(a - b) > APART[column]:
                wrong.append(f"GPU {gpu['gpu_id']} {column}: recorded {a}, nvidia-smi {b}")
        result.facts["gpus"].append(fact)
    result.judge(wrong, f"{len(recorded)} readings agree with nvidia-smi's ({len(samples.rows)} rows)")
