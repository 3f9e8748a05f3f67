"""The folders of ONNX's backend node tests, made from the package, which had them before 1.23.

    TEST/model.onnx
    TEST/test_data_set_0/input_0.pb, ..., output_0.pb, ...

A test with an input or an output that is no tensor has its model alone.
"""

import hashlib
import os
import pathlib
import shutil
import tempfile
import warnings

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from _command import ROOT


def made_folder():
    """The folder that holds them. They stay under build/: making them takes many seconds."""
    made_by = hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()[:8]
    folder = ROOT / "build" / "onnx-node-tests" / f"{onnx.__version__}-{np.__version__}-{made_by}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as making:
            write_cases(pathlib.Path(making) / "node")
            put_in_place(pathlib.Path(making) / "node", folder)
    return folder


def put_in_place(made, folder):
    """In one step, so that what is there is whole. Another process may have been first."""
    try:
        os.rename(made, folder)
    except OSError:
        if not folder.is_dir():
            raise


def write_cases(folder):
    from onnx.backend.test.case import node  # computes the cases with numpy, some by chance

    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # logarithms of negative numbers, casts of infinity
        cases = node.collect_testcases(None)
    for case in cases:
        write_case(folder / case.name, case)


def write_case(folder, case):
    if folder.exists():  # a name that is there twice: ONNX's own tool keeps the last as well
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    onnx.save(case.model, folder / "model.onnx")
    graph = case.model.graph
    if any(value.type.WhichOneof("value") != "tensor_type" for value in (*graph.input, *graph.output)):
        return
    for i, (inputs, outputs) in enumerate(case.data_sets):
        sample = folder / f"test_data_set_{i}"
        sample.mkdir()
        write_tensors(sample, "input", inputs, graph.input)
        write_tensors(sample, "output", outputs, graph.output)


def write_tensors(sample, kind, arrays, values):
    assert len(arrays) == len(values), f"{sample}: {len(arrays)} arrays for {len(values)} values"
    for i, (array, value) in enumerate(zip(arrays, values)):
        if not isinstance(array, TensorProto):
            array = numpy_helper.from_array(np.asarray(array), value.name)
        (sample / f"{kind}_{i}.pb").write_bytes(array.SerializeToString())
