"""Models in LiteRT. Ends a test with status 77, skipped, where it is missing."""

import collections
import sys

try:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError as missing:
    print(f"peer missing: {missing}")
    sys.exit(77)


def interpreter_of(path, optimised=False, keeps_all=False):
    resolver = OpResolverType.AUTO if optimised else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    return Interpreter(str(path), experimental_op_resolver_type=resolver, num_threads=1,
                       experimental_preserve_all_tensors=keeps_all)


def run_litert(path, feeds, optimised=False, keeps_all=False):
    """Outputs by name. Inputs get the shapes of what they are fed. `keeps_all`: no two tensors share memory."""
    interpreter = interpreter_of(path, optimised, keeps_all)
    for detail in interpreter.get_input_details():
        if tuple(detail["shape"]) != feeds[detail["name"]].shape:
            interpreter.resize_tensor_input(detail["index"], feeds[detail["name"]].shape)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], feeds[detail["name"]])
    interpreter.invoke()
    return {detail["name"]: interpreter.get_tensor(detail["index"])
            for detail in interpreter.get_output_details()}


def operators_of(path):
    return collections.Counter(op["op_name"] for op in interpreter_of(path)._get_ops_details()
                               if op["op_name"] != "DELEGATE")
