"""R31 (Lightning-AI/pytorch-lightning#189): the trainer logs the GPU's memory at each step by running nvidia-smi as a child, and waits
for it; where nvidia-smi starts slowly, training was ten times slower.
Run: eval "$(go run ./internal/hollow/cmd torch /var/tmp/cases/gpu)"; HOLLOW=kernel.default=150us python3 R31_monitor_each_step.py
  A script with the name nvidia-smi stands for the tool: it needs the CPU for some milliseconds, and prints a number.
  --fault on: from the onset on each step runs it (subprocess.run) and reads what it prints; off: never.
Truth: the main thread waits in each step for a child process, nvidia-smi, that it started by fork/exec (subprocess.run in
  gpu_memory: read of the pipe, wait4); the child starts, uses the CPU for some milliseconds and exits. A new one for each step.
  Wrong: the GPU; a neighbour that takes the CPU; data loading.
"""
from trainer import *

import shutil
import tempfile

SCRIPT = """#!/bin/sh
i=0
while [ $i -lt 4000 ]; do i=$((i + 1)); done
echo "1024 MiB, 24576 MiB"
"""


def main():
    t = Trainer()
    folder = tempfile.mkdtemp(prefix="r31-")
    tool = os.path.join(folder, "nvidia-smi")
    with open(tool, "w") as f:
        f.write(SCRIPT)
    os.chmod(tool, 0o755)
    seen = []

    def gpu_memory():
        out = subprocess.run([tool, "--query-gpu=memory.used,memory.total"], stdout=subprocess.PIPE, check=True).stdout
        return int(out.split()[0])

    def step(n, faulty):
        t.step()
        if faulty:
            seen.append(gpu_memory())

    try:
        drive(step)
        tell(what="children", n=len(seen))
    finally:
        shutil.rmtree(folder)


main()
