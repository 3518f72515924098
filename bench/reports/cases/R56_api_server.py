# R56 - BerriAI/litellm PR#39839, sgl-project/sglang#23271 (and vllm-project/vllm PR#10635): a server's handlers are
# coroutines, and all of them share one thread, the event loop's. One handler gets an image by a call that waits
# instead of awaiting. So nothing else happens on the loop meanwhile: tokens are not delivered, and the engine does
# not get its next step.
# Here the engine is a thread, which gives the tokens of each step to the loop and waits until they are delivered.
# Every 20 ms a request has an image, which comes after 9 ms from another process. Until the onset the handler awaits
# it.
# Run: python3 R56_api_server.py (env from `hollow env FILE`; HOLLOW="kernel.default=100us")
# TRUTH: the thread "engine-core", which launches, waits for the event loop (the main thread of "api-server"), which
# waits in recv() of a socket for the process "image-fetcher": fetch_image was called synchronously in a coroutine. 9
# ms each time.
# Wrong: the fetcher became slower (9 ms as before); the interpreter's lock (recv gives it up); the GPU; the CPU.
import asyncio, ctypes, os, signal, socket, threading, time
import plaingpu, pyhg

a = pyhg.options()
IMAGE, STREAMS = 4096, 8


def fetcher(sock):
    """Another process, which gets images from far away."""
    pyhg.name("image-fetcher")
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # ends with the server
    while sock.recv(16):
        time.sleep(0.009)
        sock.sendall(bytes(IMAGE))
    os._exit(0)


here, there = socket.socketpair()
if os.fork() == 0:
    here.close()
    fetcher(there)
there.close()
pyhg.name("api-server")
gpu, clock = plaingpu.GPU(), pyhg.Clock(a)
images = 0


def fetch_image():
    here.setblocking(True)
    here.sendall(b"image")
    image = b""
    while len(image) < IMAGE:
        image += here.recv(IMAGE)
    return image


async def fetch_image_async():
    loop = asyncio.get_running_loop()
    here.setblocking(False)
    await loop.sock_sendall(here, b"image")
    image = b""
    while len(image) < IMAGE:
        image += await loop.sock_recv(here, IMAGE)
    return image


async def handle_requests():
    global images
    while True:
        await asyncio.sleep(0.02)
        image = fetch_image() if clock.faulty else await fetch_image_async()
        images += len(image) // IMAGE


async def client(tokens):
    text = []
    while True:
        text.append(await tokens.get())
        if len(text) > 100:
            text.clear()


async def deliver(streams, token):
    for s in streams:
        s.put_nowait(token)


def engine(loop, streams):
    pyhg.name("engine-core")
    token = 0

    def step():
        nonlocal token
        gpu.step()
        token += 1
        asyncio.run_coroutine_threadsafe(deliver(streams, token), loop).result()

    clock.run(step)
    clock.report(images=images)
    os._exit(0)


async def serve():
    loop, streams = asyncio.get_running_loop(), [asyncio.Queue() for _ in range(STREAMS)]
    work = [client(s) for s in streams] + [handle_requests()]
    threading.Thread(target=engine, args=(loop, streams), daemon=True).start()
    await asyncio.gather(*work)


asyncio.run(serve())
