"""One run of calls.py under the tracer, and the steps that read it: coverage, calls, nested,
python, readings."""

import os
import re

from . import process, smi
from .result import NotDone

# Calls that PyTorch's profiler leaves out of CUPTI's records, because there are so many (kineto,
# CuptiActivityProfiler), or that it does not request from CUPTI.
BY_KINETO = "torch.profiler leaves out cudaGetDevice, cudaSetDevice, cudaGetLastError, the creation of events, " \
    "and all driver calls except launches"


class Run:
    """The run. Its parts run once, in order; a step that needs a failed one is not done."""

    def __init__(self, kit):
        self.kit, self.db, self.parts, self.failed, self.pid = kit, kit.file("calls.db"), {}, "", 0
        self.covered, self.samples, self.told = None, smi.Samples(), []

    def record(self, load):
        """load: s of work for the GPU, while nvidia-smi is sampled."""
        kit = self.kit
        program = [kit.python, kit.program("calls.py"), "--products", str(kit.products(20))]
        if kit.options.counts:
            program += ["--counts", kit.options.counts]
        talk = kit.ingero.trace(self.db, kit.file("calls.log"), program, more=kit.ingero.every_launch)
        try:
            self.pid = talk.wait_for("what", "ready", 90)["pid"]
            self.covered = kit.ingero.coverage()
            for part, limit in (("counted", 60), ("paced", 30), ("marked", 30)):
                talk.tell(part)
                self.parts[part] = talk.wait_for("what", part, limit)
            if load:
                with self.samples:
                    talk.tell(f"load {load}")
                    self.parts["load"] = talk.wait_for("what", "load", load + 30)
            code = talk.finish(30)
            if code != 0:
                raise NotDone(f"the traced program exited with {code}: {talk.errors()}")
        except NotDone as e:
            self.failed = str(e)
        finally:
            talk.close()
            self.told = [v for v in talk.said if v.get("type") == "second"]

    def need(self, part):
        if part not in self.parts:
            raise NotDone(self.failed or f"the run did not reach the part {part}")
        return self.parts[part]

    def process(self):
        """The program, as `check --coverage --json` has it."""
        if self.covered is None:
            raise NotDone(self.failed)
        mine = [p for p in self.covered["processes"] if p["pid"] == self.pid]
        if not mine:
            raise NotDone(f"check --coverage does not list the program (pid {self.pid})")
        return mine[0]

    def seconds(self, part):
        """SQL condition for op_seconds: the part's seconds, in which nothing else is called."""
        p = self.need(part)
        return f"timestamp between {int(p['begin']) * 10**9} and {int(p['end']) * 10**9} and pid = {self.pid}"

    def whole(self, part):
        """The same for cuda_events."""
        p = self.need(part)
        begin, end = int(p["begin"]), int(p["end"]) + 1
        return f"timestamp >= {begin * 10**9} and timestamp < {end * 10**9} and pid = {self.pid}"

    def between(self, part):
        p = self.need(part)
        return f"timestamp between {int(p['begin'] * 1e9)} and {int(p['end'] * 1e9)} and pid = {self.pid}"


def operations(path):
    """The operation that counts the calls of each function, from the table of functions.txt."""
    ops = {}
    with open(path) as f:
        for line in f:
            m = re.match(r"\| `(\w+)` \| `(\w+)` \|", line)
            if m:
                ops[m[1]] = m[2]
    if len(ops) < 100:
        raise NotDone(f"{path} does not have the table of functions")
    return ops


# The code of a copy of the CUDA runtime without symbols inside a library: its calls are seen as
# driver calls. NVIDIA's libraries have such copies.
COPY = "stripped_runtime"

# Codes of things not seen that do not make a process traced partly (docs/coverage.md).
HARMLESS = ("no_runtime", "untraced_function")


def judge_coverage(process, needed=("runtime", "driver")):
    """What is wrong with how a process of `check --coverage --json` is traced."""
    timed = {lib["kind"] for lib in process["libraries"] if lib["timed"]}
    wrong = [f"no {k} library is timed" for k in needed if k not in timed]
    reasons = [n for n in process["not_seen"] or [] if n["code"] not in (COPY, *HARMLESS)]
    wrong += [f"not seen: {n['what']} ({n['code']})" for n in reasons]
    if process["traced"] not in ("yes", "partly") or process["traced"] == "partly" and not copies(process):
        wrong.append(f"the program is not traced as it should be: {process['traced']}")
    return wrong


def copies(process):
    return [n for n in process["not_seen"] or [] if n["code"] == COPY]


def coverage(run, result):
    p = run.process()
    result.facts = {"traced": p["traced"], "backend": run.covered["backend"], "not_seen": p["not_seen"], "libraries": [
        {"kind": lib["kind"], "file": lib["path"], "version": lib["version"], "functions": len(lib["attached"] or []),
         "slow": lib["slow"] or []} for lib in p["libraries"]]}
    for lib in result.facts["libraries"]:
        if not lib["functions"] and copies(p):
            continue  # named below
        result.lines.append(f"{lib['kind']:<8} {lib['functions']:4d} functions  {lib['file']}")
    result.lines += [f"not seen: {n['what']} ({n['code']})" for n in p["not_seen"] or [] if n["code"] != COPY]
    if copies(p):
        inside = [os.path.basename(lib["path"]) for lib in p["libraries"] if lib["embedded"] and not lib["timed"]]
        result.lines.append(f"seen as driver calls: what copies of the runtime do inside {', '.join(inside)}")
    seen = f", {len(copies(p))} copies of the runtime as driver calls" if copies(p) else ""
    functions = sum(lib["functions"] for lib in result.facts["libraries"])
    result.judge(judge_coverage(p), f"traced: {p['traced']}{seen}; {functions} functions of {len(p['libraries'])} "
                                    f"libraries, attached with {run.covered['backend']}")


# Operations that do the same, of the runtime and of the driver: calls of a copy of the runtime
# without symbols are recorded as the driver's.
FAMILIES = {"launches": r"Launch(Cooperative)?Kernel", "memsets": r"Memset", "copies": r"Memcpy"}


def family_of(op):
    return next((name for name, pattern in FAMILIES.items() if re.search(pattern, op)), None)


def of_runtime(op):
    return op.startswith("cuda")


def named(truth, ops):
    """Another tool's counts by operation, and those of functions not traced by name."""
    wanted, untraced = {}, {}
    for name, n in truth.items():
        op = ops.get(name) or ops.get(re.sub(r"(_v\d+)+$", "", name))
        if op:
            wanted[op] = wanted.get(op, 0) + n
        elif re.match(r"(cuda|cu|nccl)[A-Z]", name) and not name.startswith(("cublas", "cudnn", "cupti", "cuda_")):
            untraced[name] = n
    return wanted, untraced


class Calls:
    """Compares another tool's counts with the recorded ones, by operation. only_named: the other
    tool leaves operations out. within: how many of an operation's calls were made by another
    traced call. copies: the program has copies of the runtime whose calls cannot be seen."""

    def __init__(self, truth, recorded, ops, only_named, within=None, copies=False):
        self.wanted, self.not_traced = named(truth, ops)
        self.recorded, self.only_named, self.copies = recorded, only_named, copies
        self.rows, self.wrong, self.families = [], [], []
        self.by_copies = self._families(within or {}) if only_named else set()
        for op in sorted(set(self.wanted) | set(recorded), key=lambda o: -recorded.get(o, 0)):
            want, got, verdict = self.wanted.get(op), recorded.get(op, 0), self._verdict(op)
            if verdict == "wrong":
                self.wrong.append(f"{op}: {want or 0} counted, {got} recorded")
            self.rows.append({"op": op, "counted": want, "recorded": got, "verdict": verdict})

    def _families(self, within):
        """Families of which all that is missing of the runtime was found, call for call, as calls
        of the driver that no traced call made and that the other tool did not count itself."""
        found = set()
        for name in FAMILIES:
            mine = [op for op in set(self.wanted) | set(self.recorded) if family_of(op) == name]
            driver = [op for op in mine if not of_runtime(op)]
            missing = sum(max(0, self.wanted.get(op, 0) - self.recorded.get(op, 0)) for op in mine if of_runtime(op))
            bare = sum(self.recorded.get(op, 0) - within.get(op, 0) for op in driver)
            counted = sum(self.wanted.get(op, 0) for op in driver)
            alike = all(self.wanted.get(op) in (None, self.recorded.get(op)) for op in driver)
            if not missing and (not counted or alike):
                continue  # nothing is missing, and the other tool reports no driver calls, or all of them
            right = bare - counted == missing and (self.copies or not missing)
            self.families.append({"family": name, "missing": missing, "driver_alone": bare, "driver_counted": counted,
                                  "verdict": "same" if right else "wrong"})
            if right:
                found.add(name)
                continue
            why = "" if self.copies or not missing else ", and the program has no copy of the runtime"
            self.wrong.append(f"{name}: {missing} calls of the runtime are missing, {bare} of the driver are not "
                              f"within a traced call, {counted} of them counted{why}")
        return found

    def _verdict(self, op):
        want, got = self.wanted.get(op), self.recorded.get(op, 0)
        if want is None:
            return "not told" if self.only_named else "wrong"
        if want == got:
            return "same"
        if self.only_named and not of_runtime(op) and want < got:
            return "fewer, nested"  # CUPTI may leave out driver calls that the runtime makes
        if of_runtime(op) and want > got and family_of(op) in self.by_copies:
            return "same, as driver calls"
        return "wrong"


WITHIN = "select op, sum(depth > 0) as n from cuda_events where source = 4 and {when} group by 1"


def calls(run, result):
    part, kit = run.need("counted"), run.kit
    when = run.seconds("counted")
    rows = kit.ingero.query(run.db, f"select op, sum(calls) as n from op_seconds where {when} group by 1")
    recorded = {r["op"]: r["n"] for r in rows}
    truth, by = part["cupti"], "CUPTI"
    if not truth and part["other"]:
        truth, by = part["other"], "the simulated GPU"
    result.facts = {"counted_by": by if truth else "", "cupti": part["cupti_why"] or "works", "recorded": recorded,
                    "losses": kit.ingero.losses(run.db)}
    if not recorded:
        result.judge(["nothing was recorded"], "")
        return
    if not truth:
        result.measured(f"not compared: {part['cupti_why']}; {sum(recorded.values()):,} calls were recorded")
        return
    within = {r["op"]: r["n"] for r in kit.ingero.query(run.db, WITHIN.format(when=run.whole("counted")))}
    c = Calls(truth, recorded, operations(kit.api), by == "CUPTI", within, bool(copies(run.process())))
    result.facts.update(operations=c.rows, not_traced=c.not_traced, within=within, families=c.families)
    result.lines = [f"{t['op']:<32} {t['recorded']:>8}  {t['verdict']}" for t in c.rows]
    result.lines += [f"{f['family']}: {f['missing']} of the runtime are missing; {f['driver_alone']} of the driver are "
                     f"not within a traced call, {f['driver_counted']} of them counted by {by}" for f in c.families]
    comparable = [t for t in c.rows if t["counted"] is not None]
    total = sum(t["recorded"] for t in comparable)
    said = f"{total:,} calls of {len(comparable)} operations agree with the counts of {by}"
    if found := sum(f["missing"] for f in c.families):
        said += f", {found} of them as driver calls: libraries with copies of the runtime made them"
    if by == "CUPTI":
        said += f"; {len(c.rows) - len(comparable)} operations that it does not report: {BY_KINETO}"
    else:
        said += f" (CUPTI: {part['cupti_why']})"
    result.judge(c.wrong, said)


NESTED = """
select r.op as runtime, count(*) as calls,
  sum(exists (select 1 from cuda_events d where d.source = 4 and d.depth > 0 and d.tid = r.tid and d.pid = r.pid
    and d.timestamp between r.timestamp and r.timestamp + r.duration_ns)) as with_driver_call
from cuda_events r where r.source = 1 and r.stored and {when} group by 1 order by 2 desc"""

DRIVER = """
select op, count(*) as calls, sum(depth > 0) as within
from cuda_events where source = 4 and {when} group by 1 order by 2 desc"""


def nested(run, result):
    """Which driver functions are called within runtime calls. All of them are exported symbols,
    because nothing else has a probe."""
    when = run.between("paced")
    runtime = run.kit.ingero.query(run.db, NESTED.format(when=when))
    driver = run.kit.ingero.query(run.db, DRIVER.format(when=when))
    result.facts = {"runtime": runtime, "driver": driver, "thinned": run.kit.ingero.query(
        run.db, f"select coalesce(sum(not stored), 0) as n from cuda_events where {when}")[0]["n"]}
    result.lines = [f"of {r['calls']:6d} {r['runtime']:<32} {r['with_driver_call']:6d} have a driver call within"
                    for r in runtime]
    result.lines += [f"of {d['calls']:6d} {d['op']:<32} {d['within']:6d} are within another traced call"
                     for d in driver]
    if not runtime:
        raise NotDone("no runtime calls were recorded")
    launches = [r for r in runtime if "Launch" in r["runtime"]]
    total, have = sum(r["calls"] for r in launches), sum(r["with_driver_call"] for r in launches)
    bare = sum(d["calls"] - d["within"] for d in driver if "Launch" in d["op"])
    result.measured(f"of {total} launches by the runtime, {have} call an exported launch function of the driver; "
                    f"{bare} driver launches are not within a traced call")


def python(run, result):
    run.need("marked")
    program = run.kit.program("calls.py")
    with open(program) as f:
        mark = next(i for i, t in enumerate(f, 1) if "# MARK" in t)
    rows = run.kit.ingero.query(run.db, f"""
        select e.op, count(*) as calls, count(distinct e.stack_hash) as stacks,
          sum(exists (select 1 from stack_frames f where f.stack_hash = e.stack_hash and f.kind = 'python')) as python,
          sum(exists (select 1 from stack_frames f where f.stack_hash = e.stack_hash and f.kind = 'python'
            and f.line = {mark} and f.file = '{program.replace("'", "''")}')) as marked
        from cuda_events e where e.depth = 0 and e.stack_hash <> 0 and {run.between("marked")}
        group by 1 order by 2 desc""")
    result.facts = {"file": os.path.basename(program), "line": mark, "operations": rows}
    result.lines = [f"{r['op']:<32} {r['calls']:5d} stacks, {r['python']:5d} with Python frames" for r in rows]
    waits = [r for r in rows if r["op"] == "cudaDeviceSynchronize"]
    if not waits:
        raise NotDone("no wait was slow enough for its stack to be recorded")
    wrong = [f"{r['marked']} of {r['calls']} stacks of {r['op']} have {os.path.basename(program)}:{mark}"
             for r in waits if r["marked"] != r["calls"]]
    n = sum(r["calls"] for r in waits)
    stacks, frames = sum(r["calls"] for r in rows), sum(r["python"] for r in rows)
    result.judge(wrong, f"all {n} stacks of waits have the line that waits ({os.path.basename(program)}:{mark}); "
                        f"{frames} of {stacks} stacks have Python frames")


def reader_ms(told, begin, end):
    """ms of CPU a second that the tracer's reader of GPUs took, from the tracer's lines between begin and end,
    Unix s; None if there are less than two. GPUs are read once a second."""
    lines = [v for v in told if begin * 1e9 <= v["at_ns"] <= end * 1e9]
    if len(lines) < 2:
        return None
    first, last = lines[0], lines[-1]
    return (last["gpu_reader_cpu_ns"] - first["gpu_reader_cpu_ns"]) * 1e3 / (last["at_ns"] - first["at_ns"])


def readings(run, result):
    load = run.need("load")
    recorded = run.kit.ingero.query(run.db, f"""select * from gpu_snapshots
        where timestamp between {int(load["begin"] * 1e9)} and {int(load["end"] * 1e9)} order by timestamp""")
    gpus = run.kit.ingero.query(run.db, "select * from gpus")
    cost = reader_ms(run.told, load["begin"], load["end"])
    try:
        smi.compare(recorded, gpus, run.samples, result)
    finally:
        result.facts["reader_cpu_ms"] = None if cost is None else round(cost, 3)
        if cost is not None and recorded:
            what = "1 GPU" if len(gpus) == 1 else f"{len(gpus)} GPUs"
            result.lines.append(f"a reading of {what} takes {cost:.2f} ms of CPU, once a second")


STEPS = {"coverage": (coverage, "which libraries of a PyTorch program are traced"),
         "calls": (calls, "each CUDA call is recorded: the counts are those of another tool"),
         "nested": (nested, "which exported driver functions NVIDIA's runtime calls"),
         "python": (python, "stacks have the line of Python that waits"),
         "readings": (readings, "readings of the GPU, compared with nvidia-smi's")}
