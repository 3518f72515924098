"""Tests of ingero.py with the real frameworks, as far as they are installed: python3 python/test_frameworks.py

    pip install torch pytorch-lightning transformers accelerate ray

Nothing is fetched while they run, and no GPU is used.
"""

import importlib.util
import json
import os
import socket
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ingero


def has(*names):
    """Skip a test if a package is missing."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, f"needs {', '.join(missing)}")


class Tracer:
    """Takes labels as the tracer does, from any number of processes."""

    def __init__(self, path):
        self.lines, self.server = [], socket.socket(socket.AF_UNIX)
        self.server.bind(path)
        self.server.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            conn, _ = self.server.accept()
            threading.Thread(target=self.read, args=(conn,), daemon=True).start()

    def read(self, conn):
        data = b""
        while True:
            part = conn.recv(1 << 16)
            if not part:
                return
            *lines, data = (data + part).split(b"\n")
            self.lines += [json.loads(line)["labels"] for line in lines]

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


if __name__ == "__main__":
    unittest.main()
