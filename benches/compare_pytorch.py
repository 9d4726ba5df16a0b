#!/usr/bin/env python3
"""The exact arithmetic against PyTorch: the same model, the same shapes, one thread each, in turns.

    pip install torch        # outside the project
    cargo build --release -p tadpole-gpu --example speed && cargo build --release --bin tadpole
    python3 benches/compare_pytorch.py [--rounds 3] [--seconds 2] [--run RUN]

Both sides take optimiser steps over 64 sequences of 120 to 372 tokens whose last third is trained on, and decode 64
sequences token by token behind prompts of 150. Figures are tokens a second of processor time; the median of the rounds
counts. PyTorch pads sequences of like length into batches and gathers the trained positions before the head; padding is
not counted as tokens.

With a run, whole rollouts are compared as well: milliseconds of processor time each. Here they are the base policy's on tasks
that `tadpole eval` draws, with every tool call and every grading; what 240 tasks with 8 attempts cost beyond 240 with 2, so that starting
up and making tasks are left out. In PyTorch they are 64 side by side of 427 tokens, 130 of them drawn: the means over 100
rollouts of smoke's first measurement. All are of one length, what is not drawn is read at once, and there is no tool, no
tokenizer and no grading.
"""

import argparse
import re
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError:
    sys.exit("PyTorch is not installed: pip install torch, in an environment outside the project")

ROOT = Path(__file__).resolve().parent.parent
SPEED = ROOT / "target" / "release" / "examples" / "speed"
TADPOLE = ROOT / "target" / "release" / "tadpole"
# Tokens of a rollout that are read, and that are drawn.
ROLLOUT = (297, 130)
TASKS, FEW, MANY = 240, 2, 8
PROMPT, DECODED, SLOTS, BATCH = 150, 200, 64, 8


@dataclass(frozen=True)
class Shape:
    """As `ModelShape` in gpu/src/shape.rs."""

    vocab: int = 640
    width: int = 96
    layers: int = 4
    heads: int = 3
    head_dim: int = 32
    hidden: int = 192
    ngram: int = 2
    rope_base: float = 10_000.0


SHAPES = {
    "shipped": Shape(),
    "d=128": Shape(vocab=1024, width=128, heads=4, hidden=512, ngram=0),
}


def rotate(x, cosine, sine):
    """Turns the pairs (first half, second half) of each head."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)


class Layer(nn.Module):
    """One block, with one key-value head."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        query = shape.heads * shape.head_dim
        self.norm1, self.norm2 = nn.RMSNorm(shape.width, 1e-6), nn.RMSNorm(shape.width, 1e-6)
        self.query_norm, self.key_norm = nn.RMSNorm(shape.head_dim, 1e-6), nn.RMSNorm(shape.head_dim, 1e-6)
        self.qkv = nn.Linear(shape.width, query + 2 * shape.head_dim, bias=False)
        self.output = nn.Linear(query, shape.width, bias=False)
        self.gate_up = nn.Linear(shape.width, 2 * shape.hidden, bias=False)
        self.down = nn.Linear(shape.hidden, shape.width, bias=False)

    def forward(self, x, turns, cache=None, at=0):
        """`cache` holds keys and values of the positions before `at` and receives those of `x`."""
        shape, (rows, length, _) = self.shape, x.shape
        dim, query = shape.head_dim, shape.heads * shape.head_dim
        q, k, v = self.qkv(self.norm1(x)).split((query, dim, dim), dim=-1)
        q = rotate(self.query_norm(q.view(rows, length, shape.heads, dim).transpose(1, 2)), *turns)
        k = rotate(self.key_norm(k.unsqueeze(1)), *turns)
        v = v.unsqueeze(1)
        if cache is not None:
            keys, values = cache
            keys[:, :, at : at + length], values[:, :, at : at + length] = k, v
            k, v = keys[:, :, : at + length], values[:, :, : at + length]
        k, v = (part.expand(-1, shape.heads, -1, -1) for part in (k, v))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        x = x + self.output(attended.transpose(1, 2).reshape(rows, length, query))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class Policy(nn.Module):
    """The model of gpu/src/transformer/mod.rs."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.tables = nn.ModuleList(nn.Embedding(shape.vocab, shape.width) for _ in range(1 + shape.ngram))
        for table in self.tables:
            nn.init.normal_(table.weight, std=0.05)
        self.blocks = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width, 1e-6)
        half = shape.head_dim // 2
        angles = torch.arange(512)[:, None] * shape.rope_base ** (-torch.arange(half) / half)
        self.register_buffer("cosines", angles.cos())
        self.register_buffer("sines", angles.sin())

    def forward(self, tokens, new, caches=None):
        """The residual stream at the last `new` of `tokens`; those before them only enter the look-up tables."""
        start = tokens.shape[1] - new
        x = self.tables[0](tokens[:, start:])
        for distance, table in enumerate(self.tables):
            if distance > 0:
                skip = max(0, distance - start)
                x[:, skip:] += table(tokens[:, start + skip - distance : tokens.shape[1] - distance])
        turns = (self.cosines[start : start + new], self.sines[start : start + new])
        for index, block in enumerate(self.blocks):
            x = block(x, turns, None if caches is None else caches[index], start)
        return self.norm(x)

    def logits(self, x):
        """The head, tied to the first table."""
        return x @ self.tables[0].weight.T


def rate(seconds, work):
    """Tokens a second of processor time; `work` returns how many it has handled."""
    work()
    start, end, tokens = time.process_time(), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        tokens += work()
    return tokens / (time.process_time() - start)


def training(shape, seconds):
    """Optimiser steps: cross-entropy of the last third of each sequence, AdamW, clipping."""
    policy = Policy(shape)
    optimiser = torch.optim.AdamW(policy.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.0)
    lengths = [120 + 4 * index for index in range(64)]
    targets = sum(length - length * 2 // 3 for length in lengths)
    batches = []
    for first in range(0, 64, BATCH):
        group = lengths[first : first + BATCH]
        tokens = torch.randint(shape.vocab, (BATCH, max(group)))
        places = [(row, place) for row, n in enumerate(group) for place in range(n * 2 // 3, n)]
        rows, positions = (torch.tensor(part) for part in zip(*places))
        batches.append((tokens, rows, positions))

    def step():
        optimiser.zero_grad(set_to_none=True)
        for tokens, rows, positions in batches:
            stream = policy(tokens, tokens.shape[1])[rows, positions - 1]
            F.cross_entropy(policy.logits(stream), tokens[rows, positions], reduction="sum").div(targets).backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimiser.step()
        return sum(lengths)

    return rate(seconds, step)


@torch.inference_mode()
def decoding(shape, seconds, prompt=PROMPT, decoded=DECODED):
    """Prompts are read at once, then every sequence is sampled token by token; prompts are not counted."""
    policy = Policy(shape)
    size = (SLOTS, 1, prompt + decoded, shape.head_dim)
    caches = [(torch.zeros(size), torch.zeros(size)) for _ in range(shape.layers)]

    def episode():
        tokens = torch.randint(shape.vocab, (SLOTS, prompt))
        stream = policy(tokens, prompt, caches)
        for _ in range(decoded):
            log_probs = F.log_softmax(policy.logits(stream[:, -1]), dim=-1)
            drawn = torch.multinomial(log_probs.exp(), 1)
            log_probs.gather(1, drawn)
            tokens = torch.cat((tokens, drawn), dim=1)
            if tokens.shape[1] < prompt + decoded:
                stream = policy(tokens, 1, caches)
        return SLOTS * decoded

    return rate(seconds, episode)


def exact(shape_name, what, seconds):
    """The same measurement by the project's own program."""
    command = [str(SPEED), "1", str(seconds), f"{shape_name}: {what}"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"(\d+) tokens/s", text)
    if found is None:
        sys.exit(f"{SPEED} printed no figure:\n{text}")
    return float(found.group(1))


def rollouts(run):
    """Processor milliseconds of a whole rollout by the project's own program."""
    costs = []
    for samples in (FEW, MANY):
        command = [str(TADPOLE), "eval", run, "--iteration", "0", "--temperature", "1", "--threads", "1"]
        start = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*command, "--tasks", str(TASKS), "--samples", str(samples)], check=True, capture_output=True)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append(end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime)
    return (costs[1] - costs[0]) / (TASKS * (MANY - FEW)) * 1e3


def compare_rollouts(arguments):
    """Prints what a rollout costs on both sides."""
    prompt, decoded = ROLLOUT
    pairs = [
        (rollouts(arguments.run), decoded / decoding(SHAPES["shipped"], arguments.seconds, prompt, decoded) * 1e3)
        for _ in range(arguments.rounds)
    ]
    ours, theirs = (statistics.median(part) for part in zip(*pairs))
    print(f"\na rollout: {ours:.1f} ms with its tools and grading, PyTorch {theirs:.1f} ms without ({theirs / ours:.1f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--run", help="directory of a run: compares whole rollouts as well")
    arguments = parser.parse_args()
    programs = (SPEED, TADPOLE) if arguments.run else (SPEED,)
    missing = [program for program in programs if not program.exists()]
    if missing:
        sys.exit(f"build {missing[0]} first; see the head of this file")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    print(f"PyTorch {torch.__version__}, one thread; tokens a second of processor time\n")
    print("| | exact | PyTorch | times |\n| --- | --- | --- | --- |")
    for name, shape in SHAPES.items():
        for what, theirs in (("training", training), (f"decoding, {SLOTS} slots, 1 to", decoding)):
            pairs = [
                (exact(name, what, arguments.seconds), theirs(shape, arguments.seconds))
                for _ in range(arguments.rounds)
            ]
            ours, other = (statistics.median(part) for part in zip(*pairs))
            label = what.split(",")[0]
            print(f"| {name}, {label} | {ours:,.0f} | {other:,.0f} | {ours / other:.1f} |", flush=True)
    if arguments.run:
        compare_rollouts(arguments)


if __name__ == "__main__":
    main()
