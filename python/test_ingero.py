"""Tests of ingero.py: python3 -m unittest discover python"""

import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ingero


class Labels(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.dir.name, "a.sock")
        os.environ["INGERO_ANNOTATE"] = self.path
        ingero.close()
        ingero._sender = ingero._Sender()
        self.server = None

    def tearDown(self):
        ingero.close()
        if self.server:
            self.server.close()
        self.dir.cleanup()

    def listen(self):
        if os.path.exists(self.path):
            os.remove(self.path)
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(self.path)
        self.server.listen()
        ingero._sender.retry = 0

    def accept(self):
        conn, _ = self.server.accept()
        self.addCleanup(conn.close)
        return conn

    def lines(self, conn, n):
        """The next n lines of a connection."""
        data = b""
        while data.count(b"\n") < n:
            data += conn.recv(1 << 16)
        return [json.loads(line) for line in data.splitlines()]

    def test_labels_are_sent_with_their_time(self):
        self.listen()
        before = time.time_ns()
        ingero.set(step=120, epoch="3", share=0.5, last=True)
        line = self.lines(self.accept(), 1)[0]
        self.assertEqual(line["labels"], {"step": 120, "epoch": "3", "share": 0.5, "last": True})
        self.assertTrue(before <= line["ts"] <= time.time_ns())
        self.assertEqual(ingero.stats(), {"sent": 1, "dropped": 0, "refused": 0, "connected": True})

    def test_a_block_gives_back_what_was_set_before(self):
        self.listen()
        ingero.set(phase="train")
        try:
            with ingero.label(phase="validation", part=1):
                raise KeyError
        except KeyError:
            pass
        ingero.labelled(phase="save")(lambda: None)()
        list(ingero.steps("ab"))
        got = [line["labels"] for line in self.lines(self.accept(), 8)]
        self.assertEqual(got, [
            {"phase": "train"}, {"phase": "validation", "part": 1}, {"phase": "train", "part": ""},
            {"phase": "save"}, {"phase": "train"}, {"step": 0}, {"step": 1}, {"step": 2}, {"step": ""}][:len(got)])

    def test_without_a_tracer_nothing_happens_and_a_later_one_gets_what_holds(self):
        ingero.set(epoch=1)
        ingero.set(step=1)
        self.assertEqual(ingero.stats()["dropped"], 2)
        self.listen()
        ingero.set(step=2)
        self.assertEqual(self.lines(self.accept(), 1)[0]["labels"], {"epoch": 1, "step": 2})
        self.server.close()  # and another one after it
        self.accepted = None
        ingero.close()
        self.listen()
        ingero.set(step=3)
        self.assertEqual(self.lines(self.accept(), 1)[0]["labels"], {"epoch": 1, "step": 3})

    def test_a_tracer_that_ends_is_noticed(self):
        self.listen()
        ingero.set(step=1)
        self.accept().close()
        self.server.close()
        for n in range(3):
            ingero.set(step=n)
        self.assertFalse(ingero.stats()["connected"])

    def test_a_tracer_that_does_not_read_blocks_nobody(self):
        self.listen()
        ingero.set(step=-1)
        conn = self.accept()
        n = 0
        while ingero.stats()["dropped"] < 100:
            ingero.set(step=n)
            n += 1
        ingero.set(epoch=7)
        got = {}
        conn.setblocking(False)
        while True:
            try:
                data = conn.recv(1 << 20)
            except BlockingIOError:
                break
        ingero.set(other=1)  # what the tracer missed comes with the next line
        got = self.lines(conn, 1)[0]
        self.assertEqual(got["labels"], {"step": n - 1, "epoch": 7, "other": 1})
        self.assertEqual(got["dropped"], 101)

    def test_what_is_no_label_is_refused(self):
        self.listen()

        class Tensor:
            def __str__(self):
                raise AssertionError("waits for the GPU")

            __int__ = __index__ = __float__ = item = __str__

        ingero.set(**{"a b": 1, "k" * 65: 1, "tensor": Tensor(), "list": [1], "": 2})
        self.assertEqual(ingero.stats()["refused"], 5)
        ingero.set(text="é" * 300, two="a\nb", inf=float("inf"), none=None, surrogate="\ud800")
        line = self.lines(self.accept(), 1)[0]["labels"]
        self.assertEqual(line, {"text": "é" * 128, "two": "a b", "inf": "inf", "none": "", "surrogate": " "})

    def test_a_child_has_its_own_connection(self):
        self.listen()
        ingero.set(step=1)
        parent = self.accept()
        pid = os.fork()
        if pid == 0:
            ingero.set(worker=5)
            os._exit(0)
        child = self.accept()
        self.assertEqual(self.lines(child, 1)[0]["labels"], {"worker": 5})
        os.waitpid(pid, 0)
        ingero.set(step=2)
        self.assertEqual([line["labels"] for line in self.lines(parent, 2)], [{"step": 1}, {"step": 2}])

    def test_threads_and_signal_handlers_may_label(self):
        self.listen()
        ingero.set(step=0)
        conn = self.accept()
        signal.signal(signal.SIGALRM, lambda *_: ingero.set(alarm=1))
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        got = []
        reader = threading.Thread(target=lambda: got.extend(self.lines(conn, 2001)))
        reader.start()
        threads = [threading.Thread(target=lambda: [ingero.set(step=n) for n in range(500)]) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        signal.setitimer(signal.ITIMER_REAL, 0)
        while ingero.stats()["sent"] < 2001:
            ingero.set(more=1)
        reader.join()
        self.assertGreaterEqual(len(got), 2001)

    def scheduled(self, new=(), old=(), outputs=(), tokens=(), drafts=()):
        """A step as vLLM's scheduler describes it, as far as it is read."""
        cached = types.SimpleNamespace(req_ids=list(old), num_output_tokens=list(outputs))
        return types.SimpleNamespace(
            scheduled_new_reqs=list(new), scheduled_cached_reqs=cached, num_scheduled_tokens=dict(tokens),
            total_num_scheduled_tokens=sum(dict(tokens).values()), scheduled_spec_decode_tokens=dict(drafts))

    def test_the_phase_of_a_step_of_vllm(self):
        cases = {
            "a prompt": ("prefill", dict(new="a", tokens={"a": 5})),
            "a prompt of one token": ("prefill", dict(new="a", tokens={"a": 1})),
            "a later chunk": ("prefill", dict(old="a", outputs=[0], tokens={"a": 5})),
            "its last token": ("prefill", dict(old="a", outputs=[0], tokens={"a": 1})),
            "tokens": ("decode", dict(old="ab", outputs=[1, 7], tokens={"a": 1, "b": 1})),
            "drafts": ("decode", dict(old="ab", outputs=[1, 7], tokens={"a": 4, "b": 1}, drafts={"a": [8, 8, 8]})),
            "a prompt and tokens": ("mixed", dict(new="a", old="b", outputs=[3], tokens={"a": 5, "b": 1})),
            "a prompt and drafts": ("mixed", dict(new="a", old="b", outputs=[3], tokens={"a": 5, "b": 2},
                                                  drafts={"b": [8]})),
            "a chunk and tokens": ("mixed", dict(old="ab", outputs=[0, 3], tokens={"a": 1, "b": 1})),
            "preempted": ("prefill", dict(old="a", outputs=[9], tokens={"a": 30})),
            "preempted, and tokens": ("mixed", dict(old="ab", outputs=[9, 2], tokens={"a": 30, "b": 1})),
            "without numbers of outputs": ("decode", dict(old="a", tokens={"a": 1})),
        }
        for name, (phase, step) in cases.items():
            self.assertEqual(ingero._vllm_phase(self.scheduled(**step)), phase, name)

    def test_a_worker_of_vllm_does_what_it_did(self):
        class Worker:
            made = 0

            def compile_or_warm_up_model(self):
                self.execute_model(None)
                return "warm"

            def execute_model(self, scheduler_output):
                self.made += 1
                return scheduler_output

        self.listen()
        worker = ingero.vllm(Worker)()
        self.assertEqual(worker.compile_or_warm_up_model(), "warm")
        for unknown in (None, object(), types.SimpleNamespace(total_num_scheduled_tokens=5)):
            self.assertIs(worker.execute_model(unknown), unknown)
        step = self.scheduled(new="a", tokens={"a": 5})
        self.assertIs(worker.execute_model(step), step)
        self.assertEqual(worker.made, 5)
        self.assertEqual([line["labels"] for line in self.lines(self.accept(), 3)],
                         [{"phase": "warm-up"}, {"phase": ""}, {"step": 1, "phase": "prefill", "requests": 1, "tokens": 5}])

    def test_vllm_is_not_imported_until_it_asks(self):
        self.assertNotIn("VLLMWorker", vars(ingero))
        with self.assertRaises(AttributeError):
            ingero.Worker
        self.assertNotIn("vllm", sys.modules)


if __name__ == "__main__":
    unittest.main()
