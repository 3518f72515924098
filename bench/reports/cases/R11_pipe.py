"""R11 (hiyouga/LlamaFactory PR#10584, pytorch/xla#2308): nobody drains the trainer's stderr pipe.
Run: eval "$(go run ./internal/hollow/cmd torch /var/tmp/cases/gpu)"; HOLLOW=kernel.default=150us python3 R11_pipe.py
  The parent (this script, "launcher") starts the trainer (itself with --child) with stderr=PIPE.
  --fault on: the launcher only waits; after 64 KiB (~8 s) the trainer is blocked in write(2) to fd 2; 10 s later the launcher kills it;
  --fault slow: from the onset on the launcher reads 90 lines in a second (a slow log shipper; pipe of 4 KiB).
  --fault off: it reads everything.
Truth: blocked write (pipe_write), fd 2 -> pipe; culprit the launcher, which does not read (slow: reads too slowly).
"""
CHILD = "--child" in __import__("sys").argv and not __import__("sys").argv.remove("--child")
from driver import *

import fcntl

if CHILD:
    import torch
    from torch import nn
    torch.manual_seed(a.seed)


class Trainer:
    """A small network on the GPU. The hollow GPU's kernels take HOLLOW's kernel.default each."""

    def __init__(self, width=256):
        self.model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9, foreach=True)
        self.loss_of = nn.CrossEntropyLoss()
        self.x, self.y = torch.randn(32, width).cuda(), torch.randint(0, 10, (32,)).cuda()
        self.factor = torch.randn(512, 512).cuda()

    def step(self):
        for _ in range(a.kernels):
            torch.mm(self.factor, self.factor)
        loss = self.loss_of(self.model(self.x), self.y)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.item()


def child():
    t = Trainer()

    def step(n, faulty):
        loss = t.step()
        print(f"step {n:7d} loss {loss:10.6f} lr 1.000e-04 grad_norm {random.random():8.4f}".ljust(75), file=sys.stderr)

    drive(step)


def launcher():
    p = subprocess.Popen([sys.executable, __file__, "--child"] + sys.argv[1:], stderr=subprocess.PIPE)
    tell(what="launcher", pid=os.getpid(), child=p.pid)
    if FAULT == "on":
        total = a.healthy + a.wait + a.faulty + 3  # 3: import of torch
        try:
            p.wait(timeout=total)
            tell(what="launcher-end", exited=True)
        except subprocess.TimeoutExpired:
            with open(f"/proc/{p.pid}/wchan") as f:
                tell(what="launcher-end", exited=False, wchan=f.read(), unix=time.time())
            p.kill()
        return
    fd, begun = p.stderr.fileno(), None
    if FAULT == "slow":
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, 4096)
    while data := os.read(fd, 2048):
        begun = begun or time.monotonic()
        if FAULT == "slow" and time.monotonic() > begun + a.healthy + a.wait:
            time.sleep(len(data) / 76 / 90)  # 90 lines in a second
    p.wait()


child() if CHILD else launcher()
