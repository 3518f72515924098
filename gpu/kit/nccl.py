"""DDP on one rank and, with two GPUs, on two: each rank's collective operations."""

from .result import NotDone

STEPS = 20


def ranks(kit, n):
    db = kit.file(f"nccl-{n}.db")
    program = [kit.python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(n),
               kit.program("ddp.py"), "--steps", str(STEPS)]
    talk = kit.ingero.trace(db, kit.file(f"nccl-{n}.log"), program)
    try:
        talk.wait_for("type", "start", 60)
        code = talk.finish(90)
    finally:
        talk.close()
    if code != 0:
        raise NotDone(f"ddp.py on {n} ranks exited with {code}: {talk.errors()}")
    rows = kit.ingero.query(db, "select rank, op, count(*) as n, count(distinct seq) as numbers, min(ranks) as ranks "
                                "from collectives where op not in ('ncclSend', 'ncclRecv') group by 1, 2 order by 1, 2")
    return judge(rows, n)


def judge(rows, n):
    """What was recorded of n ranks, and what is wrong with it."""
    by = {}
    for r in rows:
        by.setdefault(r["rank"], {})[r["op"]] = r["n"]
    fact, wrong = {"ranks": n, "operations": by}, []
    if sorted(k for k in by if k is not None) != list(range(n)):
        wrong.append(f"{n} ranks ran, but the recording has {sorted(by, key=str)}")
    for rank, ops in by.items():
        if ops.get("ncclAllReduce", 0) < STEPS:
            wrong.append(f"rank {rank} of {n} made {STEPS} steps, but {ops.get('ncclAllReduce', 0)} reductions "
                         "were recorded")
    if len({tuple(sorted(o.items())) for o in by.values()}) > 1:
        wrong.append(f"the operations of the {n} ranks differ")
    wrong += [f"{r['op']} of rank {r['rank']}: {r['n']} operations have {r['numbers']} different sequence numbers"
              for r in rows if r["n"] != r["numbers"]]
    return fact, wrong


def step(kit, result):
    if not kit.machine.get("nccl"):
        raise NotDone("this PyTorch has no NCCL")
    facts, wrong, said = [], [], []
    for n in (1, 2):
        if n > len(kit.machine["gpus"]):
            said.append(f"{n} ranks: not done, there is only one GPU")
            continue
        if n > 1 and kit.left() < 40:
            said.append(f"{n} ranks: not done, no time left")
            continue
        fact, bad = ranks(kit, n)
        facts.append(fact)
        wrong += bad
        total = sum(v for ops in fact["operations"].values() for v in ops.values())
        said.append(f"{n} rank{'s' if n > 1 else ''}: {total} operations")
    result.facts, result.lines = {"jobs": facts}, said
    result.judge(wrong, "; ".join(said))
