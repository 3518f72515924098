"""Prints what an interpreter has of line tables: run with each version.

The output is lines-3.N.json: of every code object of some source, its first line,
its table, and which byte offsets the interpreter says belong to which line.
"""
import dis
import json
import sys
import types

SOURCE = '''
def plain(a, b):
    x = a + b

    y = [i * x
         for i in range(3)
         if i]
    return (x,
            y,
            plain)
def loop(n):
    for i in range(n):
        if i % 2:
            continue
        try:
            call(i,
                 i + 1)
        except (ValueError, TypeError) as e:
            raise RuntimeError(
                "x") from e
        finally:
            n -= 1
    else:
        pass
    while n: n -= 1; call(n)
    with open("a") as f, open("b") as g:
        yield f
@decorated(
    1)
async def coroutine():
    async with a as b:
        await b
    return lambda: (
        b)
class A:
    x: int = 3
    def method(self): return self.x
''' + "def far():\n    a = 1\n" + "\n" * 300 + "    b = 2\n    return (\n" + "\n" * 200 + "        a + b)\n" \
    + "def long():\n" + "".join("    x = a.b(c)[%d]\n" % i for i in range(60))


def lines(code):
    """Ranges of byte offsets [from, to) with their line, or None."""
    if hasattr(code, "co_lines"):
        return [[a, b, line] for a, b, line in code.co_lines() if a != b]
    starts = list(dis.findlinestarts(code))
    ends = [a for a, _ in starts[1:]] + [len(code.co_code)]
    return [[a, b, line] for (a, line), b in zip(starts, ends)]


def codes(code):
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from codes(c)


out = []
for c in codes(compile(SOURCE, "fixture.py", "exec")):
    table = c.co_lnotab if sys.version_info < (3, 10) else c.co_linetable
    out.append({"name": c.co_name, "first": c.co_firstlineno, "table": table.hex(), "lines": lines(c)})
print("[\n" + ",\n".join(json.dumps(c) for c in out) + "\n]")
