"""Options, the steps in their order and within their time, the table and the JSON file."""

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time

from . import causes, counted, frameworks, ingero, nccl, overhead, process, queue_size
from .result import MEASURED, NOT_DONE, NotDone, Result, document, exit_code, table

# Steps, in their order, with what they show.
SHOWS = {"check": "the machine can be traced",
         **{name: shows for name, (_, shows) in counted.STEPS.items()},
         "nccl": "collective operations of each rank are recorded",
         "causes": "the first cause reported is right, and so is who is blamed",
         "queue": "how many launches a stream's queue holds",
         "overhead": "steps per second with the tracer, as a share of those without",
         "frameworks": "nothing is reported of healthy programs of other frameworks"}

# s of work for the GPU while nvidia-smi is sampled; and if there is no nvidia-smi, only to see
# whether there are readings.
LOAD, LOAD_ALONE = 8, 2


def parse(argv):
    a = argparse.ArgumentParser(prog="gpu/run", description="Tests Ingero on this machine's GPU. See docs/gpu.md.")
    a.add_argument("--ingero", metavar="PATH",
                   help="the binary (default: ingero beside this program, else on the PATH)")
    a.add_argument("--python", metavar="PATH", default=sys.executable,
                   help="a Python that has PyTorch (default: this one)")
    a.add_argument("--out", metavar="FILE", default="gpu-result.json", help="where to write the JSON (%(default)s)")
    a.add_argument("--keep", metavar="FOLDER", help="keep recordings and logs in this folder")
    a.add_argument("--only", metavar="STEP,…", default="", help="run only these steps: " + ", ".join(SHOWS))
    a.add_argument("--causes", metavar="CAUSE,…", default="",
                   help="try only these causes: " + ", ".join(causes.names()))
    a.add_argument("--cause-seconds", type=float, default=4,
                   help="seconds without the fault, and as many with it (%(default)s)")
    a.add_argument("--seconds", type=float, default=570, help="time limit of the whole run, s (%(default)s)")
    a.add_argument("--rounds", type=int, default=7, help="rounds of the step overhead, at most (%(default)s)")
    a.add_argument("--window", type=float, default=0.4,
                   help="seconds of each measurement of the step overhead (%(default)s)")
    a.add_argument("--counts", metavar="COMMAND", default="",
                   help="command that prints how many calls a simulated GPU has counted (docs/real.md)")
    o = a.parse_args(argv)
    for name, known in (("only", list(SHOWS)), ("causes", causes.names())):
        chosen = [v for v in getattr(o, name).split(",") if v]
        setattr(o, name, chosen)
        unknown = [v for v in chosen if v not in known]
        if unknown:
            a.error(f"--{name}: unknown: {', '.join(unknown)}; choose from {', '.join(known)}")
    return o


class Kit:
    """What the steps share."""

    def __init__(self, options, here):
        self.options, self.here, self.began = options, here, time.time()
        # On a disk, because checkpoints are to be written to one; /tmp is often in memory.
        self.folder = os.path.abspath(options.keep or tempfile.mkdtemp(prefix="ingero-gpu-", dir="/var/tmp"))
        os.makedirs(self.folder, exist_ok=True)
        self.python, self.cpus = options.python, sorted(os.sched_getaffinity(0))
        self.machine, self.ingero = {}, None

    def left(self):
        return self.began + self.options.seconds - time.time()

    def progress(self, text):
        print(f"[{time.time() - self.began:5.0f} s] {text}", file=sys.stderr, flush=True)

    def file(self, name):
        return os.path.join(self.folder, name)

    def _beside(self, name, *places):
        for place in places:
            path = os.path.realpath(os.path.join(self.here, place, name))
            if os.path.exists(path):
                return path
        raise NotDone(f"{name} not found; build the kit with: make gpu-kit")

    def program(self, name):
        return self._beside(name, "programs", "../internal/real/torch/programs")

    @property
    def api(self):
        return self._beside("functions.txt", ".", "../internal/gen/testdata")

    def products(self, ms):
        """How many matrix products keep the GPU busy for ms; at least 1."""
        return max(1, round(ms / self.machine["product_ms"]))

    def run(self, args, limit):
        return process.run(args, min(limit, max(1, self.left())))

    def talk(self, args, log):
        return process.Talk(args, self.file(log))

    @staticmethod
    def lines(text):
        found = []
        for line in text.splitlines():
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                found.append(value)
        return found

    last = staticmethod(process.last_line)

    def close(self):
        if not self.options.keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def prepare(kit):
    """Finds what every step needs; raises NotDone, which says what is missing."""
    kit.machine.update(host=platform.node(), kernel=platform.release(), arch=platform.machine(), cpus=len(kit.cpus))
    done = kit.run([kit.python, "-c", "import torch"], 120)
    if done.returncode != 0:
        raise NotDone(f"PyTorch cannot be imported by {kit.python}: {kit.last(done.stderr)}; say which Python has it "
                      "with --python")
    done = kit.run([kit.python, kit.program("about.py")], 120)
    about = [v for v in kit.lines(done.stdout) if v.get("what") == "about"]
    if not about:
        raise NotDone(f"PyTorch does not work: {kit.last(done.stderr)}")
    kit.machine.update({k: v for k, v in about[0].items() if k not in ("what", "available", "why")})
    if not about[0]["available"]:
        raise NotDone(f"PyTorch finds no GPU: {about[0].get('why', 'torch.cuda.is_available() is False')}")
    kit.ingero = ingero.Ingero(ingero.find(kit.options.ingero, kit.here))
    kit.machine["ingero"] = kit.ingero.version
    if os.geteuid() != 0:
        raise NotDone("tracing needs root; run it with sudo")


def check(kit, result):
    said = kit.ingero.check()
    bad = [f"{c['name']}: {c['detail']}" for c in said["checks"] if c["status"] not in ("ok", "info")]
    result.facts = {"ok": said["ok"], "backend": said["backend"], "checks": said["checks"]}
    result.lines = bad
    result.judge([] if said["ok"] else bad or ["ingero check found a problem"], f"attaches with {said['backend']}"
                 + (f"; {len(bad)} warnings" if bad else ""))


def steps(kit):
    """The chosen steps and what runs each."""
    run = counted.Run(kit)
    chosen = [n for n in SHOWS if not kit.options.only or n in kit.options.only]
    recorded = []

    def of_run(read):
        def step(kit, result):
            if not recorded:
                recorded.append(True)
                load = LOAD if shutil.which("nvidia-smi") else LOAD_ALONE
                run.record(load if "readings" in chosen else 0)
            read(run, result)
        return step

    do = {"check": check, "nccl": nccl.step, "causes": causes.step, "queue": queue_size.step, "overhead": overhead.step,
          "frameworks": frameworks.step}
    do.update({name: of_run(read) for name, (read, _) in counted.STEPS.items()})
    return [(name, do[name]) for name in chosen]


def perform(kit):
    """Runs all steps; each has a result, whatever happens. Returns them, and why none could run."""
    results, why = [], ""
    try:
        kit.progress("looking for PyTorch and a GPU")
        prepare(kit)
        for gpu in kit.machine["gpus"]:
            kit.progress(f"{gpu['name']}, PyTorch {kit.machine['torch']}, {kit.machine['ingero']}")
    except NotDone as e:
        why = str(e)
    for name, do in steps(kit):
        r = Result(name, SHOWS[name])
        results.append(r)
        began = time.time()
        if why or kit.left() < 15:
            r.why = why or "no time left"
            continue
        kit.progress(name)
        try:
            do(kit, r)
        except NotDone as e:
            r.outcome, r.why = NOT_DONE, str(e)
        except (KeyError, TypeError, ValueError, IndexError) as e:  # an answer in another form than expected
            r.outcome, r.why = NOT_DONE, f"an answer has an unexpected form: {type(e).__name__}: {e}"
        r.seconds = time.time() - began
    return results, why


def show(kit, results, why):
    if why:
        print(f"Could not run: {why}", file=sys.stderr)
        return
    for r in results:
        if r.lines:
            print(f"\n{r.name}: {r.shows}")
            for line in r.lines:
                print("  " + line)
    gpus = ", ".join(g["name"] for g in kit.machine.get("gpus", [])) or "no GPU"
    print(f"\n{gpus}; PyTorch {kit.machine.get('torch', '-')}, CUDA {kit.machine.get('cuda', '-')}, "
          f"Linux {kit.machine['kernel']}, {kit.machine['cpus']} CPUs\n")
    print(table(results))
    if any(r.outcome == MEASURED for r in results):
        print("\nmeasured: a figure that is reported, but not judged")


def main(argv=None):
    here = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    kit = Kit(parse(argv), here)
    try:
        results, why = perform(kit)
    finally:
        kit.close()
    code = exit_code(results)
    show(kit, results, why)
    with open(kit.options.out, "w") as f:
        json.dump(document(kit.machine, results, kit.began, code), f, indent=1)
        f.write("\n")
    kept = f"; recordings and logs are in {kit.folder}" if kit.options.keep else ""
    print(f"\nAll details are in {kit.options.out}{kept}")
    return code
