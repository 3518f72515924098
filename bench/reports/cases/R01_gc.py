"""R01 (sgl-project/sglang#30596, PR#9241): CPython's full garbage collections stop the launching thread, longer each time.
Run: eval "$(go run ./internal/hollow/cmd torch /var/tmp/cases/gpu)"; HOLLOW=kernel.default=150us python3 R01_gc.py
  --fault on: request records with cycles are kept (a leak), so that generation 2 is collected every second or so;
  --fault collect: the loop calls gc.collect() every 50 steps.
Truth: interpreter pause, culprit the main thread itself: gc_collect_main (on the CPU, no calls, some 0.3-0.6 s, N times;
  pauses are printed, measured by gc.callbacks). Not CPU contention, not the GPU.
"""
from trainer import *


def main():
    t = Trainer()
    heap = [{"id": i, "tokens": [i, i + 1], "next": None} for i in range(900_000)]
    for i in range(1, len(heap)):
        heap[i]["next"] = heap[i - 1]
    gc.collect()
    pauses, started = [], [0]

    def watch(phase, info):
        if info["generation"] < 2:
            return
        if phase == "start":
            started[0] = time.monotonic()
        else:
            pauses.append(round(time.monotonic() - started[0], 3))

    gc.callbacks.append(watch)
    kept = []

    def step(n, faulty):
        t.step()
        if faulty and FAULT == "on":
            for i in range(2500):
                r = {"id": i, "tokens": [n, i], "next": None}
                r["next"] = r
                kept.append(r)
        if faulty and FAULT == "collect" and n % 50 == 0:
            gc.collect()

    drive(step)
    tell(what="gc", pauses=pauses, objects=len(gc.get_objects()))
    gc.disable()
    os._exit(0)


main()
