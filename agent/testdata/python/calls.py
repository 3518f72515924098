"""Calls a CUDA library from Python in one way after another and tells the truth.

usage: calls.py LIBCUDART TRUTH [EXTENSION-FOLDER]

Prints a line when it has loaded the library, waits for one, makes its calls, and writes the file TRUTH: for
each call, by the number that it passes as its argument, the Python frames at that
moment as CPython itself sees them. Every call stands on a line with its site().
"""
import asyncio
import ctypes
import functools
import itertools
import json
import os
import sys
import threading

numbers = itertools.count(1)
stacks = {}  # a stack: its number
truth = {}  # the number of a call: that of its stack


def name(code):
    return getattr(code, "co_qualname", code.co_name)


def site():
    frames, f = [], sys._getframe(1)
    while f is not None:
        frames.append((f.f_code.co_filename, name(f.f_code), f.f_lineno))
        f = f.f_back
    n = next(numbers)
    truth[n] = stacks.setdefault(tuple(frames), len(stacks))
    return n


free = ctypes.CDLL(sys.argv[1]).cudaFree  # lets other threads run meanwhile
keep = ctypes.PyDLL(sys.argv[1]).cudaFree  # keeps the interpreter's lock
for f in (free, keep):
    f.argtypes = [ctypes.c_void_p]


def forward():
    free(site())
    keep(site())


def backward(n=1):
    for _ in range(n):
        keep(site())
        x = [i for i in range(3)]

        free(site()); free(site())
    return x


class Model:
    def __call__(self, depth):
        if depth:
            return self(depth - 1)
        return self.step()

    def step(self):
        forward()
        inner = lambda: free(site())
        inner()

    @property
    def loss(self):
        return free(site())

    @staticmethod
    def done(): return free(site())


def alternate(n=300):
    model = Model()
    for i in range(n):
        forward()
        backward()
        if i % 2:
            model(3)
        else:
            model.loss
            Model.done()
        try:
            raise ValueError
        except ValueError:
            free(site())
        finally:
            free(site())
        with_context(i)


class Context:
    def __enter__(self):
        free(site())

    def __exit__(self, *_):
        free(site())


def with_context(i):
    with Context():
        [free(site()) for _ in range(2)]


def numbers_of(n):
    for i in range(n):
        free(site())
        yield i
        free(site())


def delegate(n):
    yield from numbers_of(n)
    free(site())


def generators(n=100):
    for _ in delegate(n):
        free(site())
    sum(numbers_of(n))  # resumed by C


async def part(n):
    for _ in range(n):
        free(site())
        await asyncio.sleep(0)
        free(site())


async def stream(n):
    for i in range(n):
        yield i
        free(site())


async def whole():
    await part(20)
    await asyncio.gather(part(20), part(20))
    async for _ in stream(20):
        free(site())


def coroutines():
    loop = asyncio.new_event_loop()
    loop.run_until_complete(whole())
    loop.close()


def through_c(n=50):
    """C functions that call Python, which calls C functions that call Python."""
    def compare(a, b):
        free(site())
        return a[0] - b[0]

    def visit(x):
        return sorted([3, 1, 2], key=lambda y: free(site()) or y)

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    def callback(a, b):
        return compare(a, b)

    libc = ctypes.CDLL(None)
    for _ in range(n):
        list(map(visit, range(3)))
        functools.reduce(lambda a, b: keep(site()), range(3))
        libc.qsort((ctypes.c_int * 5)(4, 2, 5, 1, 3), 5, 4, callback)


def threads(n=4):
    def work(i):
        for _ in range(100):
            forward()
            backward(2)
            if i % 2:
                free(site())

    running = [threading.Thread(target=work, args=(i,)) for i in range(n)]
    for t in running:
        t.start()
    for t in running:
        t.join()


def short_lived(n=300):
    """Code objects that are thrown away, so that others take their place."""
    for i in range(n):
        source = "\n" * (i % 7) + "def made_%d():\n  free(site())\nmade_%d()" % (i % 3, i % 3)
        exec(compile(source, "made-%d.py" % (i % 5), "exec"), {"free": free, "site": site})


def long_table():
    """A line table that does not fit one record, and one for which names do not."""
    lines = ["def long():"] + ["  x = {'a%d': %d}" % (i, i) for i in range(3000)] + ["  free(site())", "long()"]
    exec(compile("\n".join(lines), "long.py", "exec"), {"free": free, "site": site})
    exec(compile("def größe():\n  free(site())\ngröße()", "größe.py", "exec"), {"free": free, "site": site})
    exec(compile("def 大小():\n  free(site())\n大小()", "大小-😀.py", "exec"), {"free": free, "site": site})


def deep(n):
    if n:
        return deep(n - 1)
    free(site())


def extension():
    """A C extension that calls the library itself, without ctypes in between."""
    if len(sys.argv) < 4:
        return
    sys.path.insert(0, sys.argv[3])
    import direct

    def inside(n):
        direct.free(site())
        return n

    for _ in range(100):
        direct.free(site())
        inside(1)
        direct.call(inside)


def main():
    print("ready", flush=True)
    sys.stdin.readline()
    for part in (alternate, generators, coroutines, through_c, threads, short_lived, long_table, extension):
        part()
    deep(100)
    deep(300)
    with open(sys.argv[2], "w") as f:
        json.dump({"version": sys.version.split()[0], "calls": truth, "stacks": list(stacks)}, f)
    os._exit(0)  # nothing that runs at exit may wait


main()
