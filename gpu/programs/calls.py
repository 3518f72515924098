"""A small seeded training and inference loop whose CUDA calls others count, too: torch.profiler
(CUPTI), and a command that prints counts, if there is one (--counts).

It prints JSON lines. Each line on standard input names the next part: counted, paced (a few
calls at a time), marked (waits at a known line), load N (N seconds of work for the GPU). The
counted part has more than a second without calls before and after it, so that no other call is
in its seconds of Unix time."""

import argparse
import os
import re
import subprocess
import sys
import time

import torch
from torch import nn

from tell import tell


def quiet():
    """Makes no call until 0.4 s of the second after the next one have passed."""
    now = time.time()
    time.sleep(int(now) + 2.4 - now)


def counts_of(command):
    """Counts so far by name, from the lines "call N … NAME" that a command prints."""
    if not command:
        return {}
    text = subprocess.run(command, shell=True, check=True, stdout=subprocess.PIPE).stdout.decode()
    return {m[2]: int(m[1]) for m in re.finditer(r"^call +(\d+) .*?(\w+)$", text, re.M)}


class Loop:
    def __init__(self):
        torch.manual_seed(1)
        self.model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
        self.model = self.model.cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.loss_of = nn.CrossEntropyLoss()
        self.big = torch.randn(2048, 2048).cuda()

    def train(self, n):
        for i in range(n):
            x, y = torch.randn(32, 256).cuda(), torch.randint(0, 10, (32,)).cuda()
            loss = self.loss_of(self.model(x), y)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            if i % 10 == 9:
                loss.item()
        torch.cuda.synchronize()

    @torch.no_grad()
    def infer(self, n):
        for _ in range(n):
            self.model(torch.randn(4, 256).cuda()).argmax(1).cpu()

    def work(self, n):
        for _ in range(n):
            torch.mm(self.big, self.big)

    def marked(self, n):
        """Stacks have to name the line of its wait."""
        self.work(n)
        torch.cuda.synchronize()  # MARK


def profiled(part):
    """Runs a part under torch.profiler; returns CUPTI's count of calls by name."""
    from torch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        quiet()
        with record_function("counted"):
            part()
        quiet()
    events = list(p.events())
    spans = [e.time_range for e in events if e.name == "counted"]
    if not spans:
        raise RuntimeError("torch.profiler did not record the part")
    begin, end = min(s.start for s in spans), max(s.end for s in spans)
    counts = {}
    for e in events:
        if re.match(r"(cuda|cu)[A-Z]", e.name) and begin <= e.time_range.start <= end:
            counts[e.name] = counts.get(e.name, 0) + 1
    return counts


def counted(loop, a):
    def part():
        loop.train(a.train)
        loop.infer(a.infer)

    span, cupti, why = [], {}, ""

    def timed():
        before = counts_of(a.counts)
        span.append(time.time())
        part()
        span.append(time.time())
        after = counts_of(a.counts)
        span.append({k: v - before.get(k, 0) for k, v in after.items() if v > before.get(k, 0)})

    if a.cupti:
        try:
            cupti = profiled(timed)
            why = "" if cupti else "torch.profiler reported no CUDA call: CUPTI does not work here"
        except Exception as e:  # CUPTI is not permitted, or has an older interface
            why = f"torch.profiler failed: {type(e).__name__}: {e}".splitlines()[0]
    if len(span) < 3:
        span.clear()
        quiet()
        timed()
        quiet()
    tell(what="counted", begin=span[0], end=span[1], cupti=cupti, cupti_why=why, other=span[2])


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--train", type=int, default=50)
    a.add_argument("--infer", type=int, default=50)
    a.add_argument("--paced", type=int, default=40)
    a.add_argument("--marked", type=int, default=30)
    a.add_argument("--products", type=int, default=20, help="a marked wait is for so many matrix products")
    a.add_argument("--counts", default="", help="command that prints what was called so far")
    a.add_argument("--no-cupti", dest="cupti", action="store_false")
    a = a.parse_args()

    loop = Loop()
    loop.train(3)
    loop.infer(3)
    tell(what="ready", pid=os.getpid())
    for line in sys.stdin:
        part, *number = line.split()
        if part == "counted":
            counted(loop, a)
            continue
        time.sleep(0.2)
        begin = time.time()
        if part == "paced":
            for _ in range(a.paced):
                loop.train(1)
                time.sleep(0.05)
        elif part == "marked":
            for _ in range(a.marked):
                loop.marked(1)
                loop.marked(a.products)
        elif part == "load":
            while time.time() < begin + float(number[0]):
                loop.work(a.products)
                torch.cuda.synchronize()
        tell(what=part, begin=begin, end=time.time())


if __name__ == "__main__":
    main()
