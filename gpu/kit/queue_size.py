"""How many launches a stream's queue holds before the next one waits for room."""

from .result import NotDone


def step(kit, result):
    done = kit.run([kit.python, kit.program("queue_size.py")], 60)
    said = [v for v in kit.lines(done.stdout) if v.get("what") == "queue"]
    if done.returncode != 0 or not said:
        raise NotDone("queue_size.py: " + kit.last(done.stderr))
    tries = said[0]["tries"]
    result.facts = {"tries": tries}
    full = [t for t in tries if t["waited_ms"] >= 20]
    if not full:
        raise NotDone(f"no launch waited within {max(t['launches'] for t in tries):,} launches")
    result.measured("a launch waited for room after " + ", ".join(f"{t['launches']:,}" for t in full)
                    + f" launches, up to {max(t['waited_ms'] for t in full):,.0f} ms")
