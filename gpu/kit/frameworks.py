"""Healthy programs of other frameworks: what is recorded of them, and that nothing is reported."""

import math

from .causes import DISTURBED, Others
from .counted import copies, judge_coverage
from .result import NotDone

# Names, and the arguments of what runs.
PROGRAMS = {"generate": ["llama.py", "generate"], "train": ["llama.py", "train"], "jax": ["jax_products.py"],
            "cupy": ["cupy_kernels.py"], "triton": ["triton_kernels.py"]}

START, END = 40, 30  # time limits of a program's start with its steady part, and of its end, s
ENOUGH = 25  # s that have to be left for a program

ALLOWED = {"cold_start"}


def trace(kit, name, db):
    """Runs a program; returns its last line, how it is covered while it does nothing, and the tracer's summary."""
    program, *args = PROGRAMS[name]
    talk = kit.ingero.trace(db, kit.file(f"framework-{name}.log"), [kit.python, kit.program(program), *args])
    try:
        talk.wait_for("type", "start", 60)
        end = measured(talk)
        covered = kit.ingero.coverage()
        code = talk.finish(END)
        if code != 0:
            raise NotDone(f"{program} exited with {code}: {talk.errors()}")
        summaries = [v for v in talk.said if v.get("type") == "summary"]
        if not summaries:
            raise NotDone("the tracer printed no summary")
        return end, covered, summaries[-1]
    finally:
        talk.close()


def measured(talk):
    line = talk.wait_for("what", "measured", START, instead="missing")
    if line["what"] == "missing":
        raise NotDone(line["why"])
    return line


def window(end):
    """Whole seconds of Unix time of the steady part."""
    return math.ceil(end["begin"]), math.floor(end["end"])


def judge(process, chains):
    """What is wrong: with how the program is traced, and what is reported of it."""
    wrong = judge_coverage(process, needed=("driver",))
    return wrong + [f"{c['cause']['kind']}: {c['summary']}" for c in chains if c["cause"]["kind"] not in ALLOWED]


def one(kit, name):
    db, others = kit.file(f"framework-{name}.db"), Others()
    end, covered, summary = trace(kit, name, db)
    share = others.share()
    mine = [p for p in covered["processes"] if p["pid"] == end["pid"]]
    if not mine:
        raise NotDone(f"check --coverage does not list the program (pid {end['pid']})")
    begin, to = window(end)
    report = kit.ingero.explain(db, begin, to)
    calls = {r["op"]: r["n"] for r in kit.ingero.query(
        db, f"select op, sum(calls) as n from op_seconds where pid = {end['pid']} and timestamp >= {begin * 10**9} "
            f"and timestamp < {to * 10**9} group by 1")}
    wrong = judge(mine[0], report["chains"])
    if not calls:
        wrong.append("nothing was recorded of its steady part")
    if wrong and share > DISTURBED:
        raise NotDone(f"disturbed: other programs used {share:.0%} of the CPUs ({wrong[0]})")
    return {"program": name, "right": not wrong, "wrong": wrong, "seconds": to - begin, "steps": end["steps"],
            "calls": sum(calls.values()), "launches": {op: n for op, n in calls.items() if "Launch" in op},
            "traced": mine[0]["traced"], "copies": len(copies(mine[0])), "losses": kit.ingero.losses(db),
            "tracer_cpu": round(summary["tracer_cpu_ns"] / summary["elapsed_ns"], 4),
            "others_pct": round(share * 100, 1), "verdict": report["verdict"],
            "chains": [{"kind": c["cause"]["kind"], **{k: c[k] for k in ("severity", "summary", "lost_pct")}}
                       for c in report["chains"]]}


def step(kit, result):
    rows, missing = [], []
    for name in PROGRAMS:
        if kit.left() < ENOUGH:
            missing.append(f"{name}: no time left")
            continue
        kit.progress(f"  {name}")
        try:
            rows.append(one(kit, name))
        except NotDone as e:
            missing.append(f"{name}: {e}")
    for r in rows:
        launches = ", ".join(f"{n:,} {op}" for op, n in sorted(r["launches"].items(), key=lambda v: -v[1]))
        result.lines.append(f"{r['program']:<10} {'right' if r['right'] else 'WRONG':<6} {r['calls']:,} calls in "
                            f"{r['seconds']} s ({launches}), tracer {r['tracer_cpu']:.1%} of a CPU, traced {r['traced']}")
        result.lines += [f"{'':<10} {w}" for w in r["wrong"]]
    result.lines += [f"{m.split(':')[0]:<10} not done, {m.split(':', 1)[1].strip()}" for m in missing]
    result.facts = {"programs": rows, "not_done": missing}
    if not rows:
        raise NotDone("; ".join(missing))
    also = f"; not done: {len(missing)}" if missing else ""
    wrong = [f"{r['program']}: {w}" for r in rows for w in r["wrong"]]
    result.judge([w + (also if w is wrong[-1] else "") for w in wrong],
                 f"nothing is reported of {len(rows)} healthy programs{also}")
