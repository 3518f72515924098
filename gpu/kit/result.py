"""The result of a step, and the steps of a run as a table and as JSON."""

import time

SCHEMA = 1

RIGHT, WRONG, MEASURED, NOT_DONE = "right", "wrong", "measured", "not done"


class NotDone(Exception):
    """A step, or a part of one, cannot be done on this machine; the text says why."""


class Result:
    """What one step found. outcome is RIGHT or WRONG if something was judged, MEASURED if
    there is only a figure to read, NOT_DONE if the step could not be done. why gives details."""

    def __init__(self, name, shows):
        self.name, self.shows = name, shows
        self.outcome, self.why, self.seconds = NOT_DONE, "", 0.0
        self.facts, self.lines = {}, []

    def judge(self, wrong, right):
        """wrong: a text for each error; right: the text if there is none."""
        self.outcome = WRONG if wrong else RIGHT
        self.why = "; ".join(wrong) if wrong else right

    def measured(self, what):
        self.outcome, self.why = MEASURED, what

    def json(self):
        return {"name": self.name, "shows": self.shows, "outcome": self.outcome, "why": self.why,
                "seconds": round(self.seconds, 1), "facts": self.facts}


def exit_code(results):
    """1: something is wrong; 0: nothing is wrong and something was judged or measured; 2: nothing
    was."""
    outcomes = {r.outcome for r in results}
    if WRONG in outcomes:
        return 1
    return 0 if outcomes & {RIGHT, MEASURED} else 2


def wrap(text, width):
    line, lines = "", []
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = line + " " + word if line else word
    return lines + [line]


def table(results):
    wide = max((len(r.name) for r in results), default=4)
    out = []
    for r in results:
        first, *rest = wrap(r.why, 100 - wide - 20)
        out.append(f"{r.name:<{wide}}  {r.outcome:<8}  {r.seconds:5.0f} s  {first}")
        out += [" " * (wide + 20) + t for t in rest]
    return "\n".join(out)


def document(machine, results, began, code):
    return {"schema": SCHEMA, "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began)),
            "seconds": round(time.time() - began, 1), "machine": machine, "exit_code": code,
            "steps": [r.json() for r in results]}
