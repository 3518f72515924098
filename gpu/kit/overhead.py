"""Steps a second of one running program, without (A) and with (B) the tracer, in the order A B B A."""

import statistics
import time

from .result import NotDone

MODES = {"eager": "a small network, whose launches take most of a step", "busy": "the same network with a busy GPU",
         "graph": "a CUDA graph of the small network"}


def window(talk, mode, seconds):
    talk.tell(f"{mode} {seconds}")
    return talk.wait_for("what", "speed", seconds + 30)["steps_per_s"]


def traced(kit, talk, mode, seconds, n):
    tracer = kit.ingero.trace(kit.file(f"overhead-{mode}-{n}.db"), kit.file("overhead-tracer.log"), talk.proc.pid)
    try:
        tracer.wait_for("type", "start", 60)
        time.sleep(0.5)  # until it has read the libraries
        rates = [window(talk, mode, seconds), window(talk, mode, seconds)]
        tracer.wait_for("type", "second", 10)
    finally:
        tracer.close()
    time.sleep(0.5)  # the probes are gone
    return rates


def one(kit, talk, mode, rounds, seconds):
    ratios, plain, with_it = [], [], []
    for n in range(rounds):
        a = [window(talk, mode, seconds)]
        b = traced(kit, talk, mode, seconds, n)
        a.append(window(talk, mode, seconds))
        ratios.append(sum(b) / sum(a))
        plain += a
        with_it += b
    return {"mode": mode, "what": MODES[mode], "rounds": rounds, "ratio": round(statistics.median(ratios), 4),
            "lowest": round(min(ratios), 4), "highest": round(max(ratios), 4),
            "without_steps_per_s": round(statistics.median(plain), 1),
            "with_steps_per_s": round(statistics.median(with_it), 1),
            "spread_without": round((max(plain) - min(plain)) / statistics.median(plain), 4)}


def step(kit, result):
    """The ratio is 1 if tracing costs nothing. spread_without is the spread of the rates without
    the tracer: a ratio closer to 1 than that says nothing."""
    rounds, seconds = kit.options.rounds, kit.options.window
    talk = kit.talk([kit.python, kit.program("speed.py"), "--products", str(kit.products(2))], "speed.log")
    rows = []
    try:
        talk.wait_for("what", "ready", 90)
        for mode in MODES:
            if kit.left() < rounds * (4 * seconds + 6):
                result.lines.append(f"{mode}: no time left")
                continue
            kit.progress(f"  {mode}")
            window(talk, mode, seconds)  # warm-up
            rows.append(one(kit, talk, mode, rounds, seconds))
        talk.finish(20)
    finally:
        talk.close()
    if not rows:
        raise NotDone("no time left")
    result.facts = {"modes": rows, "order": "without, with, with, without", "window_s": seconds}
    said = [f"{r['mode']} {r['ratio']:.3f} ({r['lowest']:.3f} to {r['highest']:.3f})" for r in rows]
    result.lines += [f"{s}; {r['without_steps_per_s']:,.0f} steps/s without, spread {r['spread_without']:.1%}"
                     for s, r in zip(said, rows)]
    result.measured("steps/s with the tracer, as a share of those without: " + ", ".join(said))
