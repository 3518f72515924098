"""Steps a second of one running program, with and without the tracer in turn, in short windows."""

import os
import statistics
import time

from .result import NotDone

MODES = {"eager": "a small network, whose launches take most of a step", "busy": "the same network with a busy GPU",
         "graph": "a CUDA graph of the small network"}

LIMIT = 45  # s of the step: no round begins that would end later, if there were FEWEST
FEWEST = 3
WARM = 0.1  # s before each window, in its mode, that do not count


def siblings(cpu):
    """CPUs of the same core."""
    try:
        with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") as f:
            parts = [p.split("-") for p in f.read().strip().split(",")]
    except OSError:
        return {cpu}
    return {c for p in parts for c in range(int(p[0]), int(p[-1]) + 1)}


def apart(cpus, core_of=siblings):
    """The CPUs of the program, whole cores and at most half of all, and those of everything else.
    Both are all of them if there are less than four."""
    mine = set()
    for cpu in sorted(cpus, reverse=True):
        core = core_of(cpu) & set(cpus)
        if cpu not in mine and len(mine | core) <= min(4, len(cpus) // 2):
            mine |= core
    if len(cpus) < 4 or not mine:
        return sorted(cpus), sorted(cpus)
    return sorted(mine), sorted(set(cpus) - mine)


def windows(talk, seconds):
    """Steps a second by mode."""
    rates = {}
    for mode in MODES:
        for s in (WARM, seconds):
            talk.tell(f"{mode} {s}")
            rates[mode] = talk.wait_for("what", "speed", s + 30)["steps_per_s"]
    return rates


def traced(kit, talk, seconds, n):
    tracer = kit.ingero.trace(kit.file(f"overhead-{n}.db"), kit.file("overhead-tracer.log"), talk.proc.pid)
    try:
        tracer.wait_for("type", "start", 60)
        time.sleep(0.3)  # until it has read the libraries
        rates = windows(talk, seconds)
        if not tracer.wait_for("type", "second", 10)["calls"]:
            raise NotDone("the tracer did not see the program's calls")
    finally:
        tracer.close()
    time.sleep(0.2)  # the probes are gone
    return rates


def ratios(plain, with_it):
    """Each rate with the tracer, as a share of the mean of the rates without it just before and after."""
    return [2 * b / (plain[i] + plain[i + 1]) for i, b in enumerate(with_it)]


def idle_ratios(plain):
    """The same of each rate without the tracer between two others: how far from 1 chance alone gets."""
    return [2 * b / (a + c) for a, b, c in zip(plain, plain[1:], plain[2:])]


def summary(mode, plain, with_it):
    """plain: steps/s without the tracer; with_it: those with it, each between two of them."""
    found, idle = ratios(plain, with_it), idle_ratios(plain)
    return {"mode": mode, "what": MODES[mode], "rounds": len(with_it), "ratio": round(statistics.median(found), 4),
            "lowest": round(min(found), 4), "highest": round(max(found), 4),
            "without_steps_per_s": round(statistics.median(plain), 1),
            "with_steps_per_s": round(statistics.median(with_it), 1),
            "spread_without": round((max(plain) - min(plain)) / statistics.median(plain), 4),
            "chance_lowest": round(min(idle), 4), "chance_highest": round(max(idle), 4)}


def measure(kit, talk, rounds, seconds, began):
    """Rates without the tracer, and with it between each two of them."""
    windows(talk, seconds)  # warm-up
    plain, with_it, longest = [windows(talk, seconds)], [], 0.0
    for n in range(rounds):
        at = time.monotonic()
        if n >= FEWEST and at + longest > began + LIMIT or kit.left() < longest + 10:
            break
        with_it.append(traced(kit, talk, seconds, n))
        plain.append(windows(talk, seconds))
        longest = max(longest, time.monotonic() - at)
    return plain, with_it


def step(kit, result):
    """The ratio is 1 if tracing costs nothing. A ratio within chance_lowest and chance_highest says
    nothing else."""
    rounds, seconds, began = kit.options.rounds, kit.options.window, time.monotonic()
    mine, others = apart(kit.cpus)
    talk = kit.talk([kit.python, kit.program("speed.py"), "--products", str(kit.products(2)), "--cpus",
                     ",".join(map(str, mine))], "speed.log")
    os.sched_setaffinity(0, others)  # of this thread, and so of the tracer
    try:
        talk.wait_for("what", "ready", 90)
        plain, with_it = measure(kit, talk, rounds, seconds, began)
        talk.finish(20)
    finally:
        os.sched_setaffinity(0, kit.cpus)
        talk.close()
    if len(with_it) < FEWEST:
        raise NotDone("no time left")
    rows = [summary(m, [p[m] for p in plain], [w[m] for w in with_it]) for m in MODES]
    result.facts = {"modes": rows, "order": "without, with, without, with, … without", "window_s": seconds,
                    "cpus": mine, "other_cpus": others}
    said = [f"{r['mode']} {r['ratio']:.3f} ({r['lowest']:.3f} to {r['highest']:.3f})" for r in rows]
    result.lines += [f"{s} in {r['rounds']} rounds; by chance {r['chance_lowest']:.3f} to {r['chance_highest']:.3f}; "
                     f"{r['without_steps_per_s']:,.0f} steps/s without, spread {r['spread_without']:.1%}"
                     for s, r in zip(said, rows)]
    result.measured("steps/s with the tracer, as a share of those without: " + ", ".join(said))
