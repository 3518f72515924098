"""Tests of how gpu/run judges, with made-up answers of CUPTI and nvidia-smi, so that no GPU is
needed. Run: python3 -m unittest discover -s gpu/tests"""

import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

from kit import causes, counted, frameworks, nccl, overhead, process, result, smi  # noqa: E402

API = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../internal/gen/testdata/functions.txt")


class Calls(unittest.TestCase):
    # A run on an H100: what CUPTI counted, what was recorded, and what of it other calls made.
    COUNTED = {"cudaLaunchKernel": 1250, "cudaLaunchKernelExC": 350, "cudaMemsetAsync": 50, "cudaMemcpyAsync": 205,
               "cuLaunchKernel": 200}
    RECORDED = {"cudaLaunchKernel": 950, "cuLaunchKernel": 1450, "cuLaunchKernelEx": 350, "cuMemsetD8Async": 50,
                "cudaMemcpyAsync": 205, "cuMemcpyHtoDAsync": 150, "cuMemcpyDtoHAsync": 55}
    WITHIN = {"cuLaunchKernel": 950, "cuMemcpyHtoDAsync": 150, "cuMemcpyDtoHAsync": 55}

    def verdicts(self, truth, recorded, only_named=True, **more):
        c = counted.Calls(truth, recorded, counted.operations(API), only_named, **more)
        return {r["op"]: r["verdict"] for r in c.rows}, c.wrong

    def test_names_of_one_operation_are_added(self):
        counts = {"cudaLaunchKernel": 5, "__cudaLaunchKernel": 2, "cuMemcpyHtoDAsync_v2": 3}
        verdicts, wrong = self.verdicts(counts, {"cudaLaunchKernel": 7, "cuMemcpyHtoDAsync": 3})
        self.assertEqual(verdicts, {"cudaLaunchKernel": "same", "cuMemcpyHtoDAsync": "same"})
        self.assertEqual(wrong, [])

    def test_a_missing_call_is_wrong(self):
        verdicts, wrong = self.verdicts({"cudaMalloc": 1, "cudaFree": 7}, {"cudaFree": 6})
        self.assertEqual(verdicts, {"cudaFree": "wrong", "cudaMalloc": "wrong"})
        self.assertEqual(len(wrong), 2)

    def test_cupti_may_report_fewer_driver_calls_but_not_more_and_not_of_the_runtime(self):
        fewer, wrong = self.verdicts({"cuLaunchKernel": 3}, {"cuLaunchKernel": 9}, within={"cuLaunchKernel": 6})
        self.assertEqual((fewer, wrong), ({"cuLaunchKernel": "fewer, nested"}, []))
        self.assertTrue(self.verdicts({"cuLaunchKernel": 3}, {"cuLaunchKernel": 9}, within={"cuLaunchKernel": 5})[1])
        self.assertTrue(self.verdicts({"cuLaunchKernel": 9}, {"cuLaunchKernel": 3})[1])
        self.assertTrue(self.verdicts({"cudaMalloc": 3}, {"cudaMalloc": 9})[1])

    def test_what_a_full_count_does_not_have_is_wrong(self):
        self.assertEqual(self.verdicts({}, {"cudaFree": 1})[0]["cudaFree"], "not told")
        self.assertTrue(self.verdicts({}, {"cudaFree": 1}, only_named=False)[1])

    def of_copies(self, counted=(), recorded=(), within=(), copies=True, only_named=True):
        return self.verdicts({**self.COUNTED, **dict(counted)}, {**self.RECORDED, **dict(recorded)}, only_named,
                             within={**self.WITHIN, **dict(within)}, copies=copies)

    def test_calls_of_copies_of_the_runtime_are_found_as_driver_calls(self):
        verdicts, wrong = self.of_copies()
        self.assertEqual(wrong, [])
        self.assertEqual(verdicts, {
            "cudaLaunchKernel": "same, as driver calls", "cudaLaunchKernelExC": "same, as driver calls",
            "cudaMemsetAsync": "same, as driver calls", "cudaMemcpyAsync": "same", "cuLaunchKernel": "fewer, nested",
            "cuLaunchKernelEx": "not told", "cuMemsetD8Async": "not told", "cuMemcpyHtoDAsync": "not told",
            "cuMemcpyDtoHAsync": "not told"})

    def test_one_driver_call_too_few_or_too_many_is_wrong(self):
        for name, changed in (
                ("launch too few", {"recorded": {"cuLaunchKernelEx": 349}}),
                ("launch too many", {"recorded": {"cuLaunchKernelEx": 351}}),
                ("one more within", {"within": {"cuLaunchKernel": 951}}),
                ("one less within", {"within": {"cuLaunchKernel": 949}}),
                ("CUPTI counts one more of the runtime", {"counted": {"cudaLaunchKernel": 1251}}),
                ("CUPTI counts one less of the runtime", {"counted": {"cudaLaunchKernel": 1249}}),
                ("CUPTI counts one more of the driver", {"counted": {"cuLaunchKernel": 201}}),
                ("memset too few", {"recorded": {"cuMemsetD8Async": 49}}),
                ("memset too many", {"recorded": {"cuMemsetD8Async": 51}}),
                ("copy too few", {"counted": {"cudaMemcpyAsync": 206}}),
                ("copy too many", {"recorded": {"cudaMemcpyAsync": 206}})):
            with self.subTest(name):
                self.assertTrue(self.of_copies(**changed)[1])

    def test_a_family_does_not_make_up_for_another(self):
        self.assertTrue(self.of_copies(recorded={"cuMemsetD8Async": 49, "cuLaunchKernelEx": 351})[1])

    def test_driver_calls_are_not_enough_without_a_copy_or_with_a_full_count(self):
        self.assertTrue(self.of_copies(copies=False)[1])
        self.assertTrue(self.of_copies(only_named=False)[1])

    def test_other_operations_cannot_be_driver_calls(self):
        self.assertEqual(self.of_copies(counted={"cudaMalloc": 1})[0]["cudaMalloc"], "wrong")


class Coverage(unittest.TestCase):
    REAL = {"traced": "partly", "libraries": [{"kind": "runtime", "timed": True}, {"kind": "driver", "timed": True},
                                              {"kind": "runtime", "timed": False}],
            "not_seen": [{"code": "stripped_runtime", "what": "runtime calls from inside libcublas.so.13"}]}

    def wrong(self, **changed):
        return counted.judge_coverage({**self.REAL, **changed})

    def test_copies_of_the_runtime_without_symbols_are_right(self):
        self.assertEqual(self.wrong(), [])
        self.assertEqual(self.wrong(traced="yes", not_seen=[]), [])
        self.assertEqual(self.wrong(traced="yes", not_seen=None), [])

    def test_copies_are_named_in_one_line(self):
        libraries = [{"kind": kind, "path": "/lib/" + name, "version": "", "attached": ["f"] * n, "slow": None,
                      "embedded": not n, "timed": n > 0}
                     for kind, name, n in (("runtime", "libcudart.so.13", 3), ("driver", "libcuda.so.1", 4),
                                           ("runtime", "libcublas.so.13", 0), ("runtime", "libcurand.so.10", 0))]

        class Run:
            covered = {"backend": "session"}

            def process(self):
                seen = [{"code": "stripped_runtime", "what": "a"}, {"code": "stripped_runtime", "what": "b"}]
                return {"traced": "partly", "libraries": libraries, "not_seen": seen}

        r = result.Result("coverage", "")
        counted.coverage(Run(), r)
        self.assertEqual(r.outcome, "right")
        self.assertEqual(r.lines, [
            "runtime     3 functions  /lib/libcudart.so.13", "driver      4 functions  /lib/libcuda.so.1",
            "seen as driver calls: what copies of the runtime do inside libcublas.so.13, libcurand.so.10"])

    def test_anything_else_that_is_not_seen_is_wrong(self):
        for code in ("file_gone", "no_permission", "unreadable", "untraced_launch", "a_new_one"):
            with self.subTest(code):
                self.assertEqual(len(self.wrong(not_seen=[*self.REAL["not_seen"], {"code": code, "what": "it"}])), 1)

    def test_partly_has_to_have_a_reason(self):
        self.assertTrue(self.wrong(not_seen=[]))
        self.assertTrue(self.wrong(not_seen=[{"code": "no_runtime", "what": "it"}]))
        self.assertTrue(self.wrong(traced="no"))

    def test_the_driver_has_to_be_timed(self):
        self.assertTrue(self.wrong(libraries=[{"kind": "runtime", "timed": True}, {"kind": "driver", "timed": False}]))


class Readings(unittest.TestCase):
    GPU = {"gpu_id": 0, "uuid": "GPU-1", "name": "H100", "driver_version": "550.54"}
    RECORDED = {"gpu_id": 0, "mem_used_mb": 1000, "temp_c": 50, "util_pct": 90, "clock_mhz": 1980, "power_w": 400.0}

    def compare(self, **changed):
        row = {"uuid": "GPU-1", "name": "H100", "driver_version": "550.54", "memory.used": "1003",
               "temperature.gpu": "51", "utilization.gpu": "95", "clocks.sm": "1980", "power.draw": "410.5"}
        samples, r = smi.Samples(), result.Result("readings", "")
        samples.rows = [{**row, **changed}]
        smi.compare([self.RECORDED], [self.GPU], samples, r)
        return r

    def test_readings_near_each_other_are_right(self):
        self.assertEqual(self.compare().outcome, "right")

    def test_each_reading_that_is_apart_is_wrong(self):
        for field, value in (("memory.used", "1300"), ("temperature.gpu", "60"), ("power.draw", "[N/A]"),
                             ("name", "A100"), ("uuid", "GPU-2")):
            with self.subTest(field):
                self.assertEqual(self.compare(**{field: value}).outcome, "wrong")

    def test_nvidia_smi_is_asked_and_its_failure_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            path, tool = os.environ["PATH"], os.path.join(folder, "nvidia-smi")
            os.environ["PATH"] = folder + ":" + path
            try:
                says = "echo 0, GPU-1, H100, 550.54, 1, 2, 3, 4, 5"
                for body, rows in ((says, True), ("echo no devices; exit 6", False)):
                    with open(tool, "w") as f:
                        f.write("#!/bin/sh\n" + body + "\n")
                    os.chmod(tool, 0o755)
                    samples = smi.Samples()
                    with samples:
                        end = time.monotonic() + 10
                        while not samples.rows and not samples.why and time.monotonic() < end:
                            time.sleep(0.05)
                    self.assertEqual(bool(samples.rows), rows)
                    self.assertEqual(samples.why, "" if rows else "nvidia-smi: no devices")
                    if rows:
                        self.assertEqual(samples.rows[0]["clocks.sm"], "4")
            finally:
                os.environ["PATH"] = path


class Reader(unittest.TestCase):
    TOLD = [{"at_ns": int(t * 1e9), "gpu_reader_cpu_ns": c} for t, c in
            ((10, 25e6), (11.0, 26e6), (12.0, 26.5e6), (13.0, 27e6), (14, 90e6))]

    def test_the_cost_is_that_of_the_time_asked_for(self):
        self.assertAlmostEqual(counted.reader_ms(self.TOLD, 10.5, 13.5), 0.5)
        self.assertAlmostEqual(counted.reader_ms(self.TOLD, 9, 11), 1)

    def test_one_line_has_no_difference(self):
        self.assertIsNone(counted.reader_ms(self.TOLD, 10.5, 11.5))
        self.assertIsNone(counted.reader_ms([], 0, 100))


class Causes(unittest.TestCase):
    GIL = next(c for c in causes.CAUSES if c.name == "gil")
    HEALTHY = next(c for c in causes.CAUSES if c.name == "healthy")

    def chain(self, kind, pid, tid):
        return {"cause": {"kind": kind, "pid": pid, "tid": tid, "process": "python3"}}

    def right(self, cause, chains, slower=0.5):
        return causes.judge(cause, chains, 10, 12, slower)[0]

    def test_kind_and_party_have_to_be_right(self):
        self.assertTrue(self.right(self.GIL, [self.chain("lock_contention", 10, 12)]))
        self.assertFalse(self.right(self.GIL, [self.chain("lock_contention", 10, 11)]))
        self.assertFalse(self.right(self.GIL, [self.chain("gpu_wait", 10, 12)]))
        self.assertFalse(self.right(self.GIL, [self.chain("gpu_wait", 10, 10), self.chain("lock_contention", 10, 12)]))
        self.assertTrue(self.right(self.GIL, [self.chain("cold_start", 10, 10), self.chain("lock_contention", 10, 12)]))

    def test_silence_is_right_only_where_nothing_is_noticed(self):
        self.assertFalse(self.right(self.GIL, []))
        self.assertTrue(self.right(self.GIL, [], slower=0.05))
        self.assertFalse(self.right(self.GIL, [], slower=None))
        self.assertTrue(self.right(self.HEALTHY, []))
        self.assertFalse(self.right(self.HEALTHY, [self.chain("gpu_wait", 10, 10)]))


class Paces(unittest.TestCase):
    def test_a_fault_in_the_second_half(self):
        ends = [10 * n for n in range(100)] + [990 + 15 * n for n in range(1, 101)]
        before, since = causes.paces({"ends": ends, "after": 100})
        self.assertAlmostEqual(before, 10)
        self.assertAlmostEqual(since, 15)

    def test_no_steps_with_the_fault(self):
        self.assertEqual(causes.paces({"ends": [10, 20, 30, 40], "after": 4}), (10.0, 0.0))


class Overhead(unittest.TestCase):
    def test_a_rate_is_compared_with_its_neighbours(self):
        row = overhead.summary("eager", [100, 100, 50, 50], [90, 75, 40])  # the machine gets slower half-way
        self.assertEqual((row["ratio"], row["lowest"], row["highest"]), (0.9, 0.8, 1.0))
        self.assertEqual(row["spread_without"], round(50 / 75, 4))

    def test_chance_is_what_rates_without_the_tracer_differ_by(self):
        self.assertEqual(overhead.idle_ratios([100, 90, 100]), [0.9])
        self.assertEqual(overhead.idle_ratios([100, 90, 100, 110]), [0.9, 1.0])
        self.assertEqual(len(overhead.idle_ratios([1] * 8)), 6)
        self.assertEqual(overhead.idle_ratios([1, 2, 3, 4, 5]), [1, 1, 1])

    def test_the_program_has_whole_cores_of_its_own(self):
        pairs = lambda cpu: {cpu & ~1, cpu | 1}  # noqa: E731
        self.assertEqual(overhead.apart(range(16), pairs), ([12, 13, 14, 15], list(range(12))))
        far = lambda cpu: {cpu % 8, cpu % 8 + 8}  # noqa: E731
        self.assertEqual(overhead.apart(range(16), far)[0], [6, 7, 14, 15])
        self.assertEqual(overhead.apart([4, 5, 6, 7], lambda cpu: {cpu}), ([6, 7], [4, 5]))

    def test_too_few_cpus_are_shared(self):
        self.assertEqual(overhead.apart([0, 1], lambda cpu: {cpu}), ([0, 1], [0, 1]))
        self.assertEqual(overhead.apart([0, 1, 2, 3], lambda cpu: {0, 1, 2, 3}), ([0, 1, 2, 3], [0, 1, 2, 3]))

    def test_siblings_are_read(self):
        self.assertIn(0, overhead.siblings(0))
        self.assertEqual(overhead.siblings(99999), {99999})


class Frameworks(unittest.TestCase):
    PROCESS = {"traced": "partly", "libraries": [{"kind": "driver", "timed": True}],
               "not_seen": [{"code": "stripped_runtime", "what": "it"}]}

    def judge(self, *kinds, **changed):
        return frameworks.judge({**self.PROCESS, **changed}, [{"cause": {"kind": k}, "summary": "s"} for k in kinds])

    def test_nothing_but_cold_start_may_be_reported(self):
        self.assertEqual(self.judge(), [])
        self.assertEqual(self.judge("cold_start"), [])
        self.assertEqual(self.judge("cold_start", "driver_cpu"), ["driver_cpu: s"])

    def test_the_driver_has_to_be_seen(self):
        self.assertTrue(self.judge(libraries=[]))
        self.assertTrue(self.judge(not_seen=[{"code": "untraced_launch", "what": "it"}]))

    def test_only_whole_seconds_of_the_steady_part_count(self):
        self.assertEqual(frameworks.window({"begin": 10.2, "end": 15.9}), (11, 15))


class Talks(unittest.TestCase):
    def wait(self, text, *args, command=("echo",), **more):
        with tempfile.TemporaryDirectory() as folder:
            talk = process.Talk([*command, text], os.path.join(folder, "log"))
            try:
                return talk.wait_for(*args, **more)
            finally:
                talk.close()

    def test_a_line_may_come_instead(self):
        self.assertEqual(self.wait('{"what": "a"}', "what", "a", 10), {"what": "a"})
        self.assertEqual(self.wait('{"what": "b"}', "what", "a", 10, instead="b"), {"what": "b"})
        with self.assertRaises(result.NotDone):
            self.wait('{"what": "b"}', "what", "a", 10)
        with self.assertRaises(result.NotDone):
            self.wait('{"type": "b"}', "what", "a", 10)

    def test_a_line_of_the_other_stream_may_come_within_one(self):
        both = """printf '{"what": ' >&2; printf '{"what": "a"}\\n'; printf '"b"}\\n' >&2"""
        for value in "ab":
            self.assertEqual(self.wait(both, "what", value, 10, command=("sh", "-c")), {"what": value})

    def test_programs_write_a_line_at_once(self):
        programs = os.path.join(os.path.dirname(__file__), "..", "programs")
        tell = [sys.executable, "-u", "-c", "import tell; tell.tell('a', n=1)"]
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # what is received is what one write sent
        with one, other:
            subprocess.run(tell, check=True, stdout=other, env={**os.environ, "PYTHONPATH": programs})
            self.assertEqual(one.recv(1000), b'{"what": "a", "n": 1}\n')


class Ranks(unittest.TestCase):
    def rows(self, *counts, ranks=2):
        return [{"rank": r, "op": "ncclAllReduce", "n": n, "numbers": n, "ranks": ranks} for r, n in enumerate(counts)]

    def test_ranks_have_to_be_there_and_alike(self):
        self.assertEqual(nccl.judge(self.rows(41, 41), 2)[1], [])
        self.assertTrue(nccl.judge(self.rows(41, 40), 2)[1])
        self.assertTrue(nccl.judge(self.rows(41), 2)[1])
        self.assertTrue(nccl.judge(self.rows(5, 5), 2)[1])
        twice = self.rows(41, 41)
        twice[0]["numbers"] = 40
        self.assertTrue(nccl.judge(twice, 2)[1])


class Codes(unittest.TestCase):
    def test_exit_codes(self):
        def code(*outcomes):
            steps = []
            for o in outcomes:
                r = result.Result("a", "b")
                r.outcome = o
                steps.append(r)
            return result.exit_code(steps)

        self.assertEqual(code("right", "measured", "not done"), 0)
        self.assertEqual(code("right", "wrong"), 1)
        self.assertEqual(code("not done", "not done"), 2)


if __name__ == "__main__":
    unittest.main()
