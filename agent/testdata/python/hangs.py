# Makes calls that do not return for a while: python3 hangs.py LIBCUDART
import ctypes, os, sys, threading

runtime = ctypes.CDLL(sys.argv[1])


class Trainer:
    def wait_for_gpu(self, stream):
        return runtime.cudaStreamSynchronize(ctypes.c_void_p(stream))

    def step(self, stream):
        for again in range(1):
            self.wait_for_gpu(stream)


def worker():
    Trainer().step(2)


print(os.getpid(), flush=True)
sys.stdin.readline()
thread = threading.Thread(target=worker)
thread.start()
Trainer().step(1)
thread.join()
