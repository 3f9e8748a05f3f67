#!/usr/bin/env python3
"""Trains the three small example models and writes them beside this file.

    train.py [cnn|transformer|lstm] [--out DIR]

Each model becomes NAME.onnx together with NAME.npz, its held-back test set:
arrays named like the model's inputs, and `labels`. The accuracy printed is
mean(argmax(output, last axis) == labels) over exactly that test set.

    digits_cnn        inverted-residual CNN, scikit-learn's 8x8 digits
    tiny_transformer  causal character model, text of Python's documentation
    digits_lstm       LSTM that reads a digit row by row

Needs PyTorch 1.13 and scikit-learn, and nothing from the network. On Debian 12:

    apt-get install python3-torch python3-sklearn libopenblas0-pthread
    /usr/bin/python3 examples/models/train.py

That takes about five minutes; without OpenBLAS several times as long.
Seeds are fixed and one thread is used, so a rerun on the same machine
with the same versions writes the same files.
"""

import argparse
import pathlib
import re
import time
import warnings

import numpy as np
import torch
from pydoc_data.topics import topics
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits
from torch import nn
from torch.nn import functional as F


# ---------------------------------------------------------------- digits, CNN

def conv_bn(inputs, outputs, kernel, stride=1, groups=1):
    """A convolution and its batch-norm; the norm's shift stands in for a bias."""
    return [
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]


class InvertedResidual(nn.Module):
    """MobileNetV2's block: widen, filter each channel by itself, narrow."""

    def __init__(self, inputs, outputs, stride, widen=4):
        super().__init__()
        wide = inputs * widen
        self.body = nn.Sequential(
            *conv_bn(inputs, wide, 1), nn.ReLU6(),
            *conv_bn(wide, wide, 3, stride, groups=wide), nn.ReLU6(),
            *conv_bn(wide, outputs, 1),
        )
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.body(x) if self.residual else self.body(x)


class DigitsCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            *conv_bn(1, 24, 3), nn.ReLU6(),
            InvertedResidual(24, 24, stride=1),
            InvertedResidual(24, 40, stride=2),
            InvertedResidual(40, 40, stride=1),
            *conv_bn(40, 128, 1), nn.ReLU6(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.classifier = nn.Linear(128, 10)

    def forward(self, image):
        return self.classifier(self.features(image))


# --------------------------------------------------------------- digits, LSTM

class DigitsLstm(nn.Module):
    """Reads the eight rows from top to bottom, then classifies the last state."""

    def __init__(self, hidden=64):
        super().__init__()
        self.lstm = nn.LSTM(input_size=8, hidden_size=hidden, batch_first=True)
        self.classifier = nn.Linear(hidden, 10)

    def forward(self, rows):
        _, (last, _) = self.lstm(rows)
        return self.classifier(last[0])


# ---------------------------------------------------------- text, transformer

CONTEXT = 64  # characters the transformer sees at once
WIDTH = 96
HEADS = 4
LAYERS = 2


class Dense(nn.Module):
    """A linear layer whose weight is kept [inputs, outputs], the way MatMul
    reads it. nn.Linear would put a Transpose before each MatMul."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) * inputs ** -0.5)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return torch.matmul(x, self.weight) + self.bias


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = Dense(WIDTH, WIDTH)
        self.key = Dense(WIDTH, WIDTH)
        self.value = Dense(WIDTH, WIDTH)
        self.output = Dense(WIDTH, WIDTH)

    def forward(self, x, future):
        def split(y):  # [batch, time, width] -> [batch, head, time, width / heads]
            return y.reshape(-1, CONTEXT, HEADS, WIDTH // HEADS).transpose(1, 2)

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = torch.matmul(query, key.transpose(2, 3)) * (WIDTH // HEADS) ** -0.5
        weights = torch.softmax(scores.masked_fill(future, -1e4), dim=-1)
        mixed = torch.matmul(weights, value).transpose(1, 2)
        return self.output(mixed.reshape(-1, CONTEXT, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.up = Dense(WIDTH, 2 * WIDTH)
        self.down = Dense(2 * WIDTH, WIDTH)

    def forward(self, x, future):
        x = x + self.attention(self.norm1(x), future)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class TinyTransformer(nn.Module):
    """A decoder whose token embedding is also its output head."""

    def __init__(self, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, WIDTH)
        self.position = nn.Parameter(torch.randn(CONTEXT, WIDTH) * 0.02)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        # Small, or the tied head would start with huge logits.
        nn.init.normal_(self.embedding.weight, std=0.05)
        future = torch.ones(CONTEXT, CONTEXT, dtype=torch.bool).triu(1)
        self.register_buffer("future", future)

    def forward(self, tokens):
        x = self.embedding(tokens) + self.position
        for block in self.blocks:
            x = block(x, self.future)
        return torch.matmul(self.norm(x), self.embedding.weight.t())


# ----------------------------------------------------------------------- data

def digits(shape):
    """Train and test tensors of scikit-learn's digits; a fifth is held back."""
    data = load_digits()
    images = (data.images / 16).astype(np.float32).reshape(-1, *shape)
    split = train_test_split(images, data.target.astype(np.int64), test_size=360,
                             random_state=0, stratify=data.target)
    return [torch.from_numpy(part) for part in split]


def documentation():
    """The documentation as token numbers, train and test, and the vocabulary's
    size. Topics quote one another, so a paragraph counts only once: otherwise
    the test text would hold paragraphs seen in training."""
    paragraphs = {}
    for name in sorted(topics):
        paragraphs.update(dict.fromkeys(topics[name].split("\n\n")))
    text = "\n\n".join(paragraphs)
    alphabet = "\n" + "".join(map(chr, range(32, 127)))
    number = {letter: i for i, letter in enumerate(alphabet)}
    # What is not plain ASCII (a few quotation marks and accents) shares one number.
    tokens = torch.tensor([number.get(letter, len(alphabet)) for letter in text])
    cut = len(tokens) * 9 // 10
    return tokens[:cut], tokens[cut:], len(alphabet) + 1


# ------------------------------------------------------------------- training

def fit(model, steps, rate, batches, smoothing=0.0):
    """Minimises cross-entropy with AdamW and a one-cycle rate."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, steps, pct_start=0.1)
    for _ in range(steps):
        inputs, labels = next(batches)
        loss = F.cross_entropy(model(inputs).flatten(0, -2), labels.flatten(),
                               label_smoothing=smoothing)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()


def digit_batches(inputs, labels, size=64):
    """Endless batches; each image is moved by up to one row, the edge repeats."""
    while True:
        pick = torch.randint(len(inputs), (size,))
        shift = int(torch.randint(-1, 2, ()))
        rows = torch.arange(8).add(shift).clamp(0, 7)
        yield inputs[pick].index_select(-2, rows), labels[pick]


def text_batches(tokens, size=32):
    """Endless batches of random windows, labelled with the character after each."""
    offsets = torch.arange(CONTEXT + 1)
    while True:
        starts = torch.randint(len(tokens) - CONTEXT, (size, 1))
        window = tokens[starts + offsets]
        yield window[:, :-1], window[:, 1:]


def text_windows(tokens, count):
    """`count` windows spread evenly over the text, and their labels."""
    starts = torch.linspace(0, len(tokens) - CONTEXT - 1, count).long()
    window = tokens[starts[:, None] + torch.arange(CONTEXT + 1)]
    return window[:, :-1], window[:, 1:]


# --------------------------------------------------------------------- output

def save(out, name, model, inputs, labels, opset, fold=False):
    """Prints the accuracy, and writes NAME.onnx and NAME.npz."""
    (input_name, examples), = inputs.items()
    with torch.no_grad():
        accuracy = (model(examples).argmax(-1) == labels).double().mean().item()
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{name}: {parameters} parameters, accuracy {accuracy:.4f}", flush=True)

    # The exporter folds batch-norms away when it is told "eval". The model is in
    # that mode already, and PRESERVE leaves the mode and the norms as they are.
    mode = torch.onnx.TrainingMode
    torch.onnx.export(
        model, (examples[:1],), str(out / f"{name}.onnx"),
        input_names=[input_name], output_names=["logits"],
        dynamic_axes={input_name: {0: "batch"}, "logits": {0: "batch"}},
        opset_version=opset,
        training=mode.EVAL if fold else mode.PRESERVE,
        do_constant_folding=fold,
    )
    np.savez_compressed(out / f"{name}.npz", labels=labels.numpy(),
                        **{input_name: examples.numpy()})


def name_lstm_weights(path):
    """Folded weights come out as onnx::LSTM_106 and so on. These names are as
    long, so they fit in the same place of the file."""
    content = path.read_bytes()
    found = sorted(set(re.findall(rb"onnx::LSTM_\d{3}", content)))
    names = [b"lstm.weight_ih", b"lstm.weight_hh", b"lstm.bias_both"]
    assert len(found) == len(names)
    for old, new in zip(found, names):
        content = content.replace(old, new)
    path.write_bytes(content)


def make_cnn(out):
    train, test, train_labels, test_labels = digits((1, 8, 8))
    model = DigitsCnn()
    fit(model, 1000, 5e-3, digit_batches(train, train_labels), smoothing=0.05)
    save(out, "digits_cnn", model, {"image": test}, test_labels, opset=13)


def make_transformer(out):
    train, test, vocabulary = documentation()
    model = TinyTransformer(vocabulary)
    fit(model, 2000, 4e-3, text_batches(train))
    windows, labels = text_windows(test, 256)
    # Folding would turn the head's Transpose into a second copy of the embedding.
    # Opset 17 is the first with LayerNormalization as one operator.
    save(out, "tiny_transformer", model, {"tokens": windows}, labels, opset=17)


def make_lstm(out):
    train, test, train_labels, test_labels = digits((8, 8))
    model = DigitsLstm()
    fit(model, 2000, 5e-3, digit_batches(train, train_labels))
    # PyTorch orders the gates differently; folding does the reordering here
    # instead of with Slice and Concat in the file.
    save(out, "digits_lstm", model, {"rows": test}, test_labels, opset=13, fold=True)
    name_lstm_weights(out / "digits_lstm.onnx")


def main():
    makers = {"cnn": make_cnn, "transformer": make_transformer, "lstm": make_lstm}
    parser = argparse.ArgumentParser(description="Train the example models.")
    parser.add_argument("model", nargs="?", choices=makers, help="only this one")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    # Two warnings of the exporter that do not matter here: it cannot infer the
    # shape of a constant, and it takes the LSTM's eight rows for the batch.
    warnings.filterwarnings("ignore", message="The shape inference of prim::Constant")
    warnings.filterwarnings("ignore", message="Exporting a model to ONNX with a batch_size")
    torch.set_num_threads(1)
    threadpool_limits(1)  # the BLAS has threads of its own
    torch.use_deterministic_algorithms(True)
    for name, make in makers.items():
        if arguments.model in (None, name):
            torch.manual_seed(0)  # here, so that one model alone comes out the same
            start = time.monotonic()
            make(arguments.out)
            print(f"  {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
