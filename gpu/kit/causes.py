"""A training loop with a fault that begins after some healthy seconds, and what `ingero explain`
says is the first cause and who is to blame. faulty.py says when the fault struck, and by whom."""

import os
import time

from .result import NotDone

# A fault that makes steps longer by less than this need not be reported.
NOTICEABLE = 0.10

# If other programs or a hypervisor take more than this of the CPUs, a run is disturbed: a finding
# may be right about them, so it is not judged.
DISTURBED = 0.10

# ms for which a step keeps the GPU busy.
WORK = 1.5

LOOP, WORKER, RIVAL, HOG, NOBODY = "the training loop", "the data worker", "the rival thread", "the hog", "nobody"


class Cause:
    """fault: of faulty.py; kinds: right answers, empty if only allowed ones may be reported;
    whom: to blame; ms: how long the fault lasts; hog: the thread whose CPU another program takes;
    work: ms for which each step keeps the GPU busy."""

    def __init__(self, name, kinds, whom, fault=None, ms=30, hog=None, allowed=(), work=WORK):
        self.name, self.kinds, self.whom, self.fault = name, kinds, whom, fault or name
        self.ms, self.hog, self.work, self.allowed = ms, hog, work, {"cold_start", *allowed}

    def step(self, usual):
        """Length of its steps in s, if they take `usual` with WORK: the GPU's work does not overlap itself."""
        return max(usual, self.work / 1e3)


CAUSES = [
    Cause("healthy", (), NOBODY, fault="none"),
    Cause("cpu-hog", ("cpu_contention",), HOG, fault="none", hog="loop"),
    Cause("worker-hog", ("cpu_contention", "input_starvation"), HOG, fault="none", hog="worker"),
    Cause("worker-cpu", ("input_starvation",), WORKER),
    Cause("worker-disk", ("block_io",), WORKER),
    Cause("gil", ("lock_contention",), RIVAL),
    Cause("mutex", ("lock_contention",), RIVAL),
    Cause("checkpoint", ("block_io",), LOOP, ms=40),
    # A wait in each step costs time only if the GPU is what the loop waits for, also under the tracer.
    Cause("item", ("implicit_sync",), LOOP, work=4),
    Cause("empty-cache", ("alloc_churn",), LOOP),
    Cause("pageable", ("pageable_copy",), LOOP, ms=200),
    Cause("recapture", ("graph_recapture",), LOOP),
]


def names():
    return [c.name for c in CAUSES]


def calibrate(kit):
    """Length of a step in s, without a fault or the tracer."""
    program = [kit.python, kit.program("faulty.py"), "--steps", "200", "--after", "100", "--dir", kit.folder,
               "--work", str(kit.products(WORK))]
    done = kit.run(program, 90)
    ends = [v for v in kit.lines(done.stdout) if v.get("what") == "end"]
    if done.returncode != 0 or not ends:
        raise NotDone("faulty.py: " + kit.last(done.stderr))
    return paces(ends[0])[1] / 1e9  # the second half: the first has the start in it


WARM_UP = 20  # steps, which allocate, load kernels and fill the loader's queue


def paces(end):
    """Length of a step in ns, before the fault and with it, from the last line of faulty.py:
    when each step ended, and after how many the fault began."""
    def mean(part):
        return (part[-1] - part[0]) / (len(part) - 1) if len(part) > 1 else 0.0

    ends, after = end["ends"], end["after"]
    return mean(ends[min(WARM_UP, after // 2):after]), mean(ends[max(after - 1, 0):])


def arguments(kit, cause, step):
    seconds = kit.options.cause_seconds  # without the fault, and with it
    after = max(100, int(seconds / cause.step(step)))
    if cause.hog or cause.fault == "none":
        length = ["--steps", str(2 * after)]
    else:
        length = ["--for", str(seconds)]
    args = ["--fault", cause.fault, "--ms", str(cause.ms), *length, "--after", str(after),
            "--dir", kit.folder, "--work", str(kit.products(cause.work))]
    if cause.hog == "worker":
        args += ["--batch", "64"]
    if cause.hog:
        args += ["--pin", str(kit.cpus[0]), "--pin-workers", str(kit.cpus[1])]
    return args


def trace(kit, cause, step, db):
    """Runs the loop under the tracer; returns what was printed, and the hog's pid or 0."""
    if cause.hog and len(kit.cpus) < 2:
        raise NotDone("two CPUs are needed")
    program = [kit.python, kit.program("faulty.py"), *arguments(kit, cause, step)]
    talk = kit.ingero.trace(db, kit.file(f"{cause.name}.log"), program)
    hog = None
    try:
        talk.wait_for("type", "start", 60)
        if cause.hog:
            # The loop runs once it launches kernels: imports are done, the first steps are without a fault.
            wait_for_launches(talk)
            time.sleep(kit.options.cause_seconds)
            cpu = kit.cpus[0] if cause.hog == "loop" else kit.cpus[1]
            hog = kit.talk([kit.python, kit.program("hog.py"), "--cpu", str(cpu)], f"{cause.name}-hog.log")
            hog.wait_for("what", "hog", 20)
        code = talk.finish(60)
        if code != 0:
            raise NotDone(f"faulty.py exited with {code}: {talk.errors()}")
        return talk.said, hog.proc.pid if hog else 0
    finally:
        if hog:
            hog.close()
        talk.close()


def wait_for_launches(talk):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        second = talk.wait_for("type", "second", 60)
        if any("Launch" in op["op"] and op["calls"] > 100 for op in second["ops"]):
            return
    raise NotDone("faulty.py launched no kernels within 60 s")


def parties(cause, said, hog):
    """Who is to blame: pid and, for a thread of the loop, tid (else 0); and the last line of the loop."""
    ends = [v for v in said if v.get("what") == "end"]
    struck = [v for v in said if v.get("what") == "fault"]
    if not ends:
        raise NotDone("faulty.py did not report its end")
    loop = ends[0]["pid"]
    if cause.whom == LOOP:
        return loop, loop, ends[0]
    if cause.whom == HOG:
        return hog, 0, ends[0]
    if cause.whom == NOBODY:
        return 0, 0, ends[0]
    if not struck:
        raise NotDone("the fault did not occur")
    return struck[0]["pid"], struck[0]["tid"] if struck[0]["pid"] == loop else 0, ends[0]


def judge(cause, chains, pid, tid, slower):
    """Whether the chains are right, and as text what they say."""
    reported = [c for c in chains if c["cause"]["kind"] not in cause.allowed]
    first = reported[0]["cause"] if reported else None
    says = "none" if not first else f"{first['kind']} by {first['process']} (pid {first['pid']}, tid {first['tid']})"
    if not cause.kinds:
        return first is None, says
    if first is None:
        return slower is not None and slower < NOTICEABLE, says
    named = first["pid"] == pid and (not tid or first["tid"] == tid)
    return first["kind"] in cause.kinds and named, says


class Others:
    """CPU time of all processes except those of this run, from /proc/stat and times(2)."""

    def __init__(self):
        self.ticks, self.own, self.at = self._busy(), self._own(), time.monotonic()

    @staticmethod
    def _busy():
        with open("/proc/stat") as f:
            n = [int(v) for v in f.readline().split()[1:]]
        return n[0] + n[1] + n[2] + sum(n[5:8])  # user, nice, system; interrupts, steal

    @staticmethod
    def _own():
        t = os.times()
        return t.user + t.system + t.children_user + t.children_system

    def share(self):
        """Share of all CPUs since it was made, 0 to 1. This run's processes must have been waited for."""
        busy = (self._busy() - self.ticks) / os.sysconf("SC_CLK_TCK") - (self._own() - self.own)
        return max(0.0, busy) / (time.monotonic() - self.at) / os.cpu_count()


def one(kit, cause, step):
    db, others = kit.file(f"{cause.name}.db"), Others()
    said, hog = trace(kit, cause, step, db)
    share = others.share()
    pid, tid, end = parties(cause, said, hog)
    before, since = paces(end)
    slower = since / before - 1 if cause.kinds and not cause.hog and before else None
    report = kit.ingero.explain(db)
    right, says = judge(cause, report["chains"], pid, tid, slower)
    if not right and share > DISTURBED:
        raise NotDone(f"disturbed: other programs used {share:.0%} of the CPUs (reported: {says})")
    return {"cause": cause.name, "right": right, "told": says, "expected": list(cause.kinds), "blame": cause.whom,
            "pid": pid, "tid": tid, "slower_pct": None if slower is None else round(slower * 100, 1),
            "step_ms": round(before / 1e6, 3), "others_pct": round(share * 100, 1), "verdict": report["verdict"],
            "chains": [
                {k: c[k] for k in ("severity", "summary", "lost_pct", "explained_pct")} for c in report["chains"]]}


def step(kit, result):
    chosen = [c for c in CAUSES if not kit.options.causes or c.name in kit.options.causes]
    length = calibrate(kit)
    rows, missing = [], []
    for cause in chosen:
        if kit.left() < 25:
            missing.append(f"{cause.name}: no time left")
            continue
        kit.progress(f"  {cause.name}")
        try:
            row = one(kit, cause, length)
        except NotDone as e:
            missing.append(f"{cause.name}: {e}")
            continue
        rows.append(row)
        result.lines.append(f"{cause.name:<12} {'right' if row['right'] else 'WRONG':<6} {row['told']}")
    result.lines += [f"{m.split(':')[0]:<12} not done, {m.split(':', 1)[1].strip()}" for m in missing]
    result.facts = {"step_ms": round(length * 1e3, 3), "causes": rows, "not_done": missing}
    if not rows:
        raise NotDone("; ".join(missing) or "no cause was chosen")
    wrong = [f"{r['cause']}: {r['told']}" for r in rows if not r["right"]]
    also = f"; not done: {len(missing)}" if missing else ""
    result.judge([w + (also if w is wrong[-1] else "") for w in wrong],
                 f"{len(rows)} of {len(rows)} reported right{also}")
