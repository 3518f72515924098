# R38 - oobabooga/textgen PR#1625, peonist-ai/halogen-flash-server#13: after each token the server makes the text of everything that was
# generated so far, and looks for the stop strings in all of it; so a token takes the longer, the longer the answer is.
# Here 32 requests are decoded together. Until the onset only the last tokens are looked at. At the onset new requests begin,
# and each step looks at all of their text.
# Run: python3 R38_stop_strings.py (env from `hollow env FILE`; HOLLOW="kernel.default=100us")
# TRUTH: the main thread "text-server": its own Python code on the CPU between the launches, in has_stop_string/detokenize, a
# little longer in each step (from 0 to some 6 ms); the GPU and the number of calls are as before.
# Wrong: the GPU became slower; a memory leak as such; garbage collection; another process.
import os, random
import plaingpu, pyhg

a = pyhg.options()
pyhg.name("text-server")
r = random.Random(a.seed)
PIECES = ["".join(r.choice("abcdefghij ") for _ in range(r.randint(3, 8))) for _ in range(5000)]
STOPS = [f"###Stop {i}" for i in range(12)]


def piece(token):
    return PIECES[token]


def detokenize(tokens):
    return "".join([piece(t) for t in tokens])


def has_stop_string(tokens, first):
    text = detokenize(tokens[first:])
    return any(s in text for s in STOPS)


gpu, requests, whole = plaingpu.GPU(), [[] for _ in range(32)], False
clock = pyhg.Clock(a)


def step():
    global whole
    gpu.step()
    if clock.faulty and not whole:
        whole = True
        for tokens in requests:
            tokens.clear()
    for tokens in requests:
        tokens.append(r.randrange(len(PIECES)))
        if has_stop_string(tokens, 0 if whole else max(0, len(tokens) - 8)):
            tokens.clear()


clock.run(step)
clock.report(tokens=len(requests[0]))
os._exit(0)
