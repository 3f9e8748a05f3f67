"""OpenVINO as an oracle: reals as float32, whatever the processor would rather compute."""
import openvino

core = openvino.Core()
# Products with compressed weights would be computed with data of 8 bits, where processors have the instructions.
EXACT = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}


def compiled_by_openvino(model, **settings):
    """For a path or a model, on the CPU."""
    return core.compile_model(model, "CPU", {**EXACT, **settings})
