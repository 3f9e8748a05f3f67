#!/usr/bin/env python3
"""Quantizes the weights of a model as a peer does by its own defaults for that format.

    run_peer.py PEER MODEL.onnx OUT.onnx

PEER: a name in PEERS. Settings are those of the same bits, symmetric, that the peer has.
"""

import pathlib
import sys

import numpy
import onnx


def quantize_dynamic(model, out):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(model, out, weight_type=QuantType.QInt8, per_channel=True,
                     use_external_data_format=True)


def matmul_nbits(model, out):
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantizer = MatMulNBitsQuantizer(onnx.load(model), block_size=32, is_symmetric=True)
    quantizer.process()
    quantizer.model.save_model_to_file(out, True)


def compress_weights(model, out, **settings):
    import nncf

    settings["mode"] = getattr(nncf.CompressWeightsMode, settings["mode"])
    compressed = nncf.compress_weights(onnx.load(model), **settings)
    onnx.save(compressed, out, save_as_external_data=True, location=pathlib.Path(out).name + ".data")


def nncf_int8(model, out):
    compress_weights(model, out, mode="INT8_SYM")


def nncf_int4(model, out):
    compress_weights(model, out, mode="INT4_SYM", group_size=32, ratio=1.0, all_layers=True)


def numpy_int8(model, out):
    """What one writes oneself: a scale a column, in the file's own order; no graph is written."""
    loaded = onnx.load(model, load_external_data=False)
    folder = pathlib.Path(model).parent
    with open(out, "wb") as written:
        for tensor in loaded.graph.initializer:
            place = {entry.key: entry.value for entry in tensor.external_data}
            if not place:
                continue
            weights = numpy.fromfile(folder / place["location"], numpy.float32, offset=int(place["offset"]),
                                     count=int(place["length"]) // 4).reshape(tensor.dims)
            scales = numpy.abs(weights).max(axis=0) / 127
            written.write(numpy.clip(numpy.rint(weights / scales), -127, 127).astype(numpy.int8).data)
            written.write(scales.data)


PEERS = {peer.__name__: peer
         for peer in (quantize_dynamic, matmul_nbits, nncf_int8, nncf_int4, numpy_int8)}

if __name__ == "__main__":
    PEERS[sys.argv[1]](sys.argv[2], sys.argv[3])
