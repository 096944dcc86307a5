"""Programs of packages for PyTorch: the same numbers by PyTorch and by dovetail."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

# Small networks with weights and inputs that NumPy draws, trained for two steps, and
# asked to go on with a text.
PROGRAM = """
import json
import numpy as np
import torch
from transformers import (
    BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForCausalLM,
    T5Config, T5ForConditionalGeneration, ViTConfig, ViTForImageClassification,
)

SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "attention_probs_dropout_prob": 0.0,
    "hidden_dropout_prob": 0.0,
}
WORDS = {"vocab_size": 100}


def filled(net):
    draw = np.random.default_rng(0)
    with torch.no_grad():
        for name, p in sorted(net.named_parameters()):
            values = draw.standard_normal(tuple(p.shape)) * 0.05
            p.copy_(torch.from_numpy(np.asarray(values, dtype="float32")))
            if p.ndim == 1 and "bias" not in name:
                p += 1
    return net.train()


draw = np.random.default_rng(1)
ids = torch.from_numpy(draw.integers(3, 20, (2, 12)))
mask = torch.ones(2, 12, dtype=torch.long)
mask[1, 9:] = 0
image = torch.from_numpy(draw.standard_normal((2, 3, 32, 32)).astype("float32"))
classes = torch.tensor([0, 1])
nets = {
    "bert": (
        BertForSequenceClassification(BertConfig(**SMALL, **WORDS)),
        {"input_ids": ids, "attention_mask": mask, "labels": classes},
    ),
    "llama": (
        LlamaForCausalLM(LlamaConfig(num_key_value_heads=2, **SMALL, **WORDS)),
        {"input_ids": ids, "attention_mask": mask, "labels": ids},
    ),
    "t5": (
        T5ForConditionalGeneration(T5Config(
            d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0,
            decoder_start_token_id=0, **WORDS,
        )),
        {"input_ids": ids, "attention_mask": mask, "labels": ids[:, :7].clone()},
    ),
    "vit": (
        ViTForImageClassification(ViTConfig(image_size=32, patch_size=8, **SMALL)),
        {"pixel_values": image, "labels": classes},
    ),
}
found = {}
for name, (net, inputs) in nets.items():
    filled(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    losses = []
    for _ in range(2):
        loss = net(**inputs).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    found[name] = losses
text = nets["llama"][0].eval().generate(ids[:, :5], max_new_tokens=5, do_sample=False)
found["text"] = text.tolist()
print(json.dumps(found))
"""


def said(*command: str) -> dict[str, Any]:
    """What the program prints."""
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_transformers_train_and_generate(tmp_path: Path) -> None:
    """The same losses, and the same text, with no line of the program changed."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    want = said(str(script))
    got = said("-m", "dovetail", "run", "--as-torch", str(script))
    assert got.pop("text") == want.pop("text")
    assert got.keys() == want.keys()
    for name, losses in want.items():
        assert got[name] == pytest.approx(losses, rel=1e-4), name
