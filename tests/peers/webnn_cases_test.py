#!/usr/bin/env python3
"""Runs the converted cases of tests/webnn/cases in LiteRT: its integer kernels give what the unfused
graph gives, to one step.

Environment: WEBNN_CASES_COMMAND, the program webnn_cases; WEBNN_CASE_FILES, further files of cases, with
`:` between them.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

try:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError as missing:
    print(f"peer missing: {missing}")
    sys.exit(77)

CASES = pathlib.Path(__file__).resolve().parents[1] / "webnn" / "cases"
STEPS = 1
MOVES = ("reshape", "transpose", "slice", "expand", "reverse", "identity")
# Of floats: those of kernels that compute in another order.
RELATIVE, ABSOLUTE = 1e-4, 1e-5


def array(tensor):
    kind = {"int4": "int8", "uint4": "uint8"}.get(tensor["dtype"], tensor["dtype"])
    values = np.array([float(value) if isinstance(value, str) else value
                       for value in tensor["values"]])
    return values.astype(kind).reshape(tensor["shape"])


def truth(case):
    for key in ("result_without_fusion", "expected_outputs"):
        if case.get(key):
            return {name: array(tensor) for name, tensor in case[key].items()}
    return None


def run(path, case):
    model = Interpreter(
        model_path=str(path),
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    model.allocate_tensors()
    for detail in model.get_input_details():
        data = array(case["tensors"][detail["name"]])
        model.set_tensor(detail["index"], data.reshape(detail["shape"]).astype(detail["dtype"]))
    model.invoke()
    return {detail["name"]: model.get_tensor(detail["index"])
            for detail in model.get_output_details()}


def steps_of(case):
    """By value, the step of what a dequantizeLinear makes, and of what moves it."""
    steps = {}
    for node in case["nodes"]:
        if node["op"] == "dequantizeLinear":
            scale = case["tensors"].get(node["inputs"][1])
            if scale is not None:
                steps[node["outputs"][0]] = float(np.max(np.abs(array(scale))))
        elif node["op"] in MOVES and node["inputs"][0] in steps:
            steps |= {name: steps[node["inputs"][0]] for name in node["outputs"]}
    return steps


def has_codes_of_nothing(case):
    """Whether a logarithm or a root of negative numbers is quantized: the code means nothing."""
    makers = {name: node for node in case["nodes"] for name in node["outputs"]}
    return any(makers.get(node["inputs"][0], {}).get("op") in ("log", "reduceLogSum", "sqrt")
               for node in case["nodes"] if node["op"] == "quantizeLinear")


def looks_up_from_behind(case):
    """Whether indices that are computed count from the end, which LiteRT refuses; writers say so."""
    tensors = case["tensors"]
    return any(node["op"] in ("gather", "gatherND") and node["inputs"][1] in tensors
               and not tensors[node["inputs"][1]]["constant"]
               and np.any(array(tensors[node["inputs"][1]]) < 0) for node in case["nodes"])


def difference(name, ours, wanted, steps):
    """In steps, or, of floats, in tolerances."""
    ours = ours.reshape(wanted.shape)
    if np.issubdtype(wanted.dtype, np.integer) or wanted.dtype == bool:
        return float(np.max(np.abs(ours.astype(np.int64) - wanted.astype(np.int64)), initial=0))
    ours, wanted = ours.astype(np.float64), wanted.astype(np.float64)
    both = np.isnan(ours) & np.isnan(wanted) | (ours == wanted)
    gap = np.where(both, 0, np.abs(ours - wanted))
    unit = steps.get(name) or ABSOLUTE
    return float(np.max(gap / np.maximum(unit, RELATIVE * np.abs(wanted)), initial=0))




def check(command, path):
    failures, ran, left_out = [], 0, []
    document = json.loads(path.read_text())
    cases = [case for group in ("conformance", "probes", "cases") for case in document.get(group, [])]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        done = subprocess.run([command, str(path), "--write", str(folder)], capture_output=True,
                              text=True)
        if done.returncode == 2:
            sys.exit(f"{path}: {done.stderr}")
        written = {int(re.match(r"\d+", file.name)[0]): file for file in folder.iterdir()}
        for index, case in enumerate(cases, 1):
            wanted = truth(case)
            if wanted is None:
                left_out.append(f"{case['name']}: there is no truth")
            elif looks_up_from_behind(case):
                left_out.append(f"{case['name']}: indices from behind")
            elif has_codes_of_nothing(case):
                left_out.append(f"{case['name']}: a code of NaN means nothing")
            elif index not in written:
                left_out.append(f"{case['name']}: no file")
            else:
                try:
                    outputs = run(written[index], case)
                except (RuntimeError, ValueError) as error:
                    failures.append(f"{case['name']}: {str(error).splitlines()[0]}")
                    continue
                ran += 1
                steps = steps_of(case)
                worst = max(difference(name, outputs[name], values, steps)
                            for name, values in wanted.items())
                if not worst <= STEPS:
                    failures.append(f"{case['name']}: {worst:g} from the truth")
    return ran, failures, left_out


def main():
    command = os.environ["WEBNN_CASES_COMMAND"]
    # types.json is about integers that mean nothing but themselves, of which LiteRT knows few.
    files = [path for path in sorted(CASES.glob("*.json")) if path.name != "types.json"]
    files += [pathlib.Path(name) for name in os.environ.get("WEBNN_CASE_FILES", "").split(":") if name]
    passed, failed = 0, 0
    for path in files:
        ran, failures, left_out = check(command, path)
        print(f"{path.name}: {ran} ran, {len(failures)} failed, {len(left_out)} left out")
        for line in failures:
            print(f"  FAILED {line}")
        if "-v" in sys.argv:
            print("".join(f"  left out: {line}\n" for line in left_out), end="")
        passed += ran - sum(" from the truth" in line for line in failures)
        failed += len(failures)
    print(f"{passed} passed, {failed} failed")
    return failed != 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())
