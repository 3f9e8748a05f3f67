"""quadrant convert: formats by the ending, fusing for a target, codes at the borders; and explain, of
what is fused.

    python3 tests/cli/convert_test.py path/to/quadrant        or with the path in $QUADRANT

Needs Python's standard library alone.
"""


from command_case import BAD_INPUT, IMPOSSIBLE, INPUT_OUTPUT, USAGE, CommandTest, run_tests

# The example of the WebNN seed.
CHAIN = """
graph {opset = 21}
%input: tensor<1x2x4x4xf32> = input()
%w: tensor<3x2x1x1x!quant.uniform<i8:f32, 0.02>> = constant() [1, 2, 3, 4, 5, 6]
%xq: tensor<1x2x4x4x!quant.uniform<i8:f32, 0.05:3>> = quantize(%input)
%xr: tensor<1x2x4x4xf32> = dequantize(%xq)
%wr: tensor<3x2x1x1xf32> = dequantize(%w)
%c: tensor<1x3x4x4xf32> = conv(%xr, %wr)
%cq: tensor<1x3x4x4x!quant.uniform<i8:f32, 0.1:-5>> = quantize(%c)
%cr: tensor<1x3x4x4xf32> = dequantize(%cq)
%p: tensor<1x3x2x2xf32> = onnx.AveragePool(%cr) {kernel_shape = [2, 2], strides = [2, 2]}
%pq: tensor<1x3x2x2x!quant.uniform<i8:f32, 0.1:-5>> = quantize(%p)
%pr: tensor<1x3x2x2xf32> = dequantize(%pq)
output(%pr)
"""

# A product of as many rows as there are.
OPEN = """
graph {}
%x: tensor<?x4xf32> = input()
%w: tensor<4x2xf32> = constant() [1, 2, 3, 4, 5, 6, 7, 8]
%y: tensor<?x2xf32> = matmul(%x, %w)
output(%y)
"""

# What training with simulated quantization leaves; but for %w2, which it left out.
SIMULATED = """
graph {}
%x: tensor<1x2x4x4xf32> = input()
%xq: tensor<1x2x4x4xf32> = const_fake_quant(%x) {min = -1.0, max = 1.0}
%w: tensor<3x2x1x1xf32> = constant() [0.5, -0.25, 0.125, 0.5, -0.25, 0.125]
%wq: tensor<3x2x1x1xf32> = const_fake_quant(%w) {min = [-1.0, -0.9, -1.0], max = [1.0, 0.9, 1.0], axis = 0,
  narrow_range = 1, is_signed = 1}
%c: tensor<1x3x4x4xf32> = conv(%xq, %wq) {name = "first"}
%low: tensor<f32> = constant() [0]
%high: tensor<f32> = constant() [6]
%cq: tensor<1x3x4x4xf32> = fake_quant(%c, %low, %high)
%w2: tensor<3x3x1x1xf32> = constant() [0.5, -0.25, 0.125, 0.5, -0.25, 0.125, 1, 2, 3]
%d: tensor<1x3x4x4xf32> = conv(%cq, %w2) {name = "second"}
%dq: tensor<1x3x4x4xf32> = const_fake_quant(%d) {min = 0.0, max = 6.0}
output(%dq)
"""

# Of which all is known, and %a and %b are to have the same parameters.
INSTRUMENTED = """
graph {"onnx.opset_domains" = [""], "onnx.opset_versions" = [17]}
%x: tensor<4x2xf32> = input()
%sx: tensor<4x2xf32> = stats(%x) {layer_stats = [-1.0, 1.0]}
%w: tensor<2x2xf32> = constant() [1, 2, 3, 4]
%v: tensor<2x2xf32> = constant() [1, 0, 0, 1]
%a: tensor<4x2xf32> = matmul(%sx, %w)
%b: tensor<4x2xf32> = matmul(%sx, %v)
%sa: tensor<4x2xf32> = stats(%a) {layer_stats = [-4.0, 6.0]}
%sb: tensor<4x2xf32> = stats(%b) {layer_stats = [-1.0, 1.0]}
%ca: tensor<4x2xf32> = coupled_ref(%sa) {coupled_key = "both"}
%cb: tensor<4x2xf32> = coupled_ref(%sb) {coupled_key = "both"}
%y: tensor<4x2xf32> = add(%ca, %cb)
%sy: tensor<4x2xf32> = stats(%y) {layer_stats = [-5.0, 7.0]}
%z: tensor<4x2xf32> = matmul(%sy, %v)
%sz: tensor<4x2xf32> = stats(%z) {layer_stats = [-5.0, 7.0]}
output(%sz)
"""

# x * sigmoid(conv(x)), which many networks are made of.
GATE = """
graph {"onnx.opset_domains" = [""], "onnx.opset_versions" = [17]}
%x: tensor<1x2x4x4xf32> = input()
%w: tensor<2x2x1x1xf32> = constant() [0.3, -0.2, 0.7, 0.4]
%c: tensor<1x2x4x4xf32> = conv(%x, %w)
%s: tensor<1x2x4x4xf32> = onnx.Sigmoid(%c)
%g: tensor<1x2x4x4xf32> = multiply(%c, %s)
%y: tensor<1x2x4x4xf32> = conv(%g, %w)
output(%y)
"""


# What OpenVINO's tools make of a convolution.
FAKE = """
graph {opset = 21}
%x: tensor<1x2x4x4xf32> = input()
%low: tensor<f32> = constant() [-1.28]
%high: tensor<f32> = constant() [1.27]
%xq: tensor<1x2x4x4xf32> = fake_quantize(%x, %low, %high, %low, %high) {levels = 256}
%w: tensor<2x2x1x1xf32> = constant() [0.3, -0.2, 0.7, 0.4]
%least: tensor<2x1x1x1xf32> = constant() [-0.3, -0.7]
%most: tensor<2x1x1x1xf32> = constant() [0.3, 0.7]
%wq: tensor<2x2x1x1xf32> = fake_quantize(%w, %least, %most, %least, %most) {levels = 255}
%y: tensor<1x2x4x4xf32> = conv(%xq, %wq)
output(%y)
"""


# Zero lies in the middle of two codes of 256.
BESIDE_ZERO = FAKE.replace("[-1.28]", "[-1]").replace("[1.27]", "[1]")

# Weights alone are stored as integers.
STORED = """
graph {opset = 21}
%x: tensor<1x2x4x4xf32> = input()
%codes: tensor<2x2x1x1xi8> = constant() [3, -2, 7, 4]
%cast: tensor<2x2x1x1xf32> = cast(%codes) {to = 1}
%zero: tensor<f32> = constant() [1]
%shifted: tensor<2x2x1x1xf32> = onnx.Sub(%cast, %zero)
%scale: tensor<2x1x1x1xf32> = constant() [0.5, 0.25]
%w: tensor<2x2x1x1xf32> = multiply(%shifted, %scale)
%y: tensor<1x2x4x4xf32> = conv(%x, %w)
output(%y)
"""


# Codes that are a part of their type.
PART = """
graph {"onnx.opset_domains" = [""], "onnx.opset_versions" = [21]}
%x: tensor<1x64xf32> = input()
%q: tensor<1x64x!quant.uniform<i8<-7:7>:f32, 0.01>> = quantize(%x)
%y: tensor<1x64xf32> = dequantize(%q)
output(%y)
"""


class ConvertTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.put("chain.qd", CHAIN.encode())

    def operations(self, path):
        return self.json_of("inspect", path)["operations"]

    def test_the_chain_is_fused_for_tflite_and_reads_back(self):
        document = self.json_of("convert", "chain.qd", "chain.tflite")
        self.assertEqual(document["target"], "tflite")
        self.assertEqual([row["on_codes"] for row in document["fused"]["operations"]], [True, True])
        operations = self.operations("chain.tflite")
        for kind, count in {"quantize": 1, "conv": 1, "onnx.AveragePool": 1, "dequantize": 1}.items():
            self.assertEqual(operations[kind], count, kind)

    def test_mlir_is_written_and_not_read(self):
        self.assertIn("operations", self.succeeds("convert", "chain.qd", "chain.mlir"))
        text = self.bytes_of("chain.mlir").decode()
        self.assertTrue(text.startswith('"builtin.module"()'))
        self.assertIn("!quant.uniform<", text)
        self.fails(USAGE, "MLIR is written alone", "convert", "chain.mlir", "chain.onnx")

    def test_open_extents_are_fixed_by_an_option(self):
        self.put("open.qd", OPEN.encode())
        self.fails(IMPOSSIBLE, "--shape INPUT=", "convert", "open.qd", "open.mlir")
        self.succeeds("convert", "open.qd", "open.mlir", "--shape", "x=3x4")
        self.assertIn("(tensor<3x4xf32>) -> (tensor<3x2xf32>)", self.bytes_of("open.mlir").decode())
        for shape, fragment in (("x=3x5", "cannot be [3x5]"), ("z=3x4", "no input 'z'"), ("x", "INPUT=1x3")):
            self.fails(USAGE, fragment, "convert", "open.qd", "none.mlir", "--shape", shape)
        self.succeeds("convert", "open.qd", "fixed.onnx", "--shape", "x=3x4")
        self.assertEqual(self.json_of("inspect", "fixed.onnx")["inputs"][0]["shape"], [3, 4])
        # A file's own words for what an input is do not outlive it.
        self.succeeds("convert", "open.qd", "open.onnx")
        self.succeeds("convert", "open.onnx", "stated.onnx", "--shape", "x=3x4")
        document = self.json_of("inspect", "stated.onnx")
        self.assertEqual([document[side][0]["shape"] for side in ("inputs", "outputs")], [[3, 4], [3, 2]])

    def test_openvino_there_and_back(self):
        self.succeeds("convert", "chain.qd", "chain.xml")
        self.assertEqual(self.json_of("inspect", "chain.xml")["format"], "openvino")
        operations = self.operations("chain.xml")
        self.assertEqual(operations["fake_quantize"], 3)
        # What was in between has names from then on, and nothing changes any more.
        self.succeeds("convert", "chain.xml", "again.xml")
        self.succeeds("convert", "again.xml", "third.xml")
        for ending in ("xml", "bin"):
            self.assertEqual(self.bytes_of(f"again.{ending}"), self.bytes_of(f"third.{ending}"))

    def test_fake_quantize_on_codes(self):
        self.put("fake.qd", FAKE.encode())
        document = self.json_of("convert", "fake.qd", "codes.qd", "--target", "openvino-cpu")
        self.assertEqual(document["target"], "openvino-cpu")
        self.assertEqual([row["on_codes"] for row in document["fused"]["operations"]], [True])
        operations = self.operations("codes.qd")
        self.assertNotIn("fake_quantize", operations)
        self.assertEqual(operations["conv"], 1)

    def test_a_target_that_is_named_says_what_it_computes(self):
        self.put("stored.qd", STORED.encode())
        document = self.json_of("convert", "stored.qd", "codes.qd", "--target", "openvino-cpu")
        rows = [(row["operation"], row["on_codes"]) for row in document["fused"]["operations"]]
        self.assertEqual(rows, [("conv", False)])
        operations = self.operations("codes.qd")
        self.assertEqual(operations["dequantize"], 1)  # the weight is codes that have a type
        self.assertNotIn("multiply", operations)
        # Where nothing is quantized at all, too.
        self.put("gate.qd", GATE.encode())
        for target, name in (("openvino-cpu", "gate2.qd"), ("tflite", "gate.tflite")):
            text = self.succeeds("convert", "gate.qd", name, "--target", target)
            self.assertIn(f"0 of 4 operations compute on codes, for {target}", text)
        self.assertIsNone(self.json_of("convert", "gate.qd", "gate.tflite")["fused"])

    def test_ranges_that_miss_zero_are_moved_on_request(self):
        self.put("beside.qd", BESIDE_ZERO.encode())
        hint = "it can be moved (`repair_ranges` of 'convert')"
        for name, target in (("codes.qd", ("--target", "openvino-cpu")), ("codes.onnx", ()),
                             ("codes.tflite", ())):
            kept = self.json_of("convert", "beside.qd", name, *target)
            if target:
                self.assertIn(hint, kept["fused"]["operations"][0]["reason"])
            self.assertIn(hint, " ".join(kept["remarks"]), name)
            moved = self.json_of("convert", "beside.qd", name, *target, "--repair-ranges")
            self.assertIn("xq: zero is 0.5 steps off the grid", " ".join(moved["remarks"]), name)
            self.assertIn("it was moved to -1.00392", " ".join(moved["remarks"]), name)
            self.assertNotIn("fake_quantize", self.operations(name))
        for name in ("out.qd", "out.xml"):
            self.fails(USAGE, "here it stays as it is", "convert", "beside.qd", name,
                       "--repair-ranges")

    def test_targets_split_fake_quantize_in_text_too(self):
        self.put("fake.qd", FAKE.encode())
        for target in ("tflite", "webnn", "onnx-qoperator"):
            self.succeeds("convert", "fake.qd", "codes.qd", "--target", target)
            self.assertNotIn("fake_quantize", self.operations("codes.qd"), target)

    def test_a_part_of_the_codes_stays_one(self):
        self.put("part.qd", PART.encode())
        self.succeeds("convert", "part.qd", "part.onnx")
        self.succeeds("convert", "part.onnx", "again.onnx")
        self.assertEqual(self.operations("again.onnx"), self.operations("part.qd"))
        for source in ("part.qd", "part.onnx"):
            self.succeeds("convert", source, "part.tflite")
            document = self.json_of("compare", source, "part.tflite", "--random", 2)
            self.assertTrue(document["comparison"]["outputs"][0]["exact"], source)

    def test_weights_that_are_not_there(self):
        self.put("fake.qd", FAKE.encode())
        self.succeeds("convert", "fake.qd", "model.xml")
        (self.folder / "model.bin").unlink()
        self.fails(INPUT_OUTPUT, "the weights of this model are in it, and there is no such file",
                   "inspect", "model.xml")

    def test_fake_quantize_in_other_formats(self):
        self.put("fake.qd", FAKE.encode())
        self.succeeds("convert", "fake.qd", "fake.onnx")
        operations = self.operations("fake.onnx")
        self.assertEqual((operations["quantize"], operations["dequantize"]), (1, 2))
        self.succeeds("convert", "fake.qd", "fake.tflite")
        self.assertNotIn("fake_quantize", self.operations("fake.tflite"))

    def test_fake_quantize_that_is_no_codes(self):
        self.put("fake.qd", FAKE.replace("[-1.28]", "[-1.27]").encode())  # zero is no level
        document = self.json_of("convert", "fake.qd", "fake.tflite")
        self.assertTrue(any(remark.startswith("fake_quantize: xq: zero is")
                            for remark in document["remarks"]), document["remarks"])
        operations = self.operations("fake.tflite")
        self.assertNotIn("fake_quantize", operations)
        self.assertEqual(operations["onnx.Round"], 1)
        # TFLite computes in float32 alone, and says so.
        self.put("half.qd", FAKE.replace("f32", "f16").replace("[-1.28]", "[-1.27]").encode())
        self.fails(IMPOSSIBLE, "fake_quantize: computes in f16", "convert", "half.qd", "half.tflite")

    def test_targets_of_openvino_go_with_text(self):
        self.put("fake.qd", FAKE.encode())
        for ending in ("tflite", "onnx", "xml"):
            self.fails(USAGE, "it goes with .qd", "convert", "fake.qd", f"fake.{ending}", "--target",
                       "openvino-gpu")

    def test_codes_at_the_borders(self):
        self.succeeds("convert", "chain.qd", "codes.tflite", "--io", "codes")
        operations = self.operations("codes.tflite")
        self.assertNotIn("quantize", operations)
        self.assertNotIn("dequantize", operations)

    def test_without_a_target_nothing_is_fused(self):
        document = self.json_of("convert", "chain.qd", "chain.onnx")
        self.assertIsNone(document["fused"])
        self.assertEqual(self.operations("chain.onnx")["dequantize"], 4)
        self.succeeds("convert", "chain.onnx", "again.qd")
        self.assertIn(b"onnx.AveragePool", (self.folder / "again.qd").read_bytes())

    def test_operators_on_codes(self):
        self.succeeds("convert", "chain.qd", "chain.onnx", "--target", "onnx-qoperator")
        operations = self.operations("chain.onnx")
        self.assertIn("onnx.QLinearConv", operations)
        self.assertIn("onnx.com.microsoft::QLinearAveragePool", operations)

    def test_float_models_are_quantized_on_the_way(self):
        self.succeeds("calibrate", self.model, "--random", 2, "--shape", "x=3x16", "-o", "s.json")
        document = self.json_of("convert", self.model, "out.tflite", "--scheme", "static-affine",
                                "--calibration", "s.json")
        self.assertGreater(document["fused"]["on_codes"], 0)

    def test_parameters_are_those_of_the_target(self):
        self.put("gate.qd", GATE.encode())
        self.succeeds("convert", "gate.qd", "gate.onnx")
        self.succeeds("calibrate", "gate.onnx", "--random", 2, "-o", "s.json")
        requantized = {}
        for kernels in ((), ("--kernels", "any")):
            document = self.json_of("convert", "gate.onnx", "out.tflite", "--scheme", "static-affine",
                                    "--calibration", "s.json", "--gain", "unit", *kernels)
            requantized[kernels] = document["fused"]["requantized"]
        self.assertEqual(list(requantized.values()), [0, 1])

    def test_openvino_gets_codes_where_it_computes_on_them(self):
        # A gate without parameters of its own: its quantize would be in the way.
        self.put("gate.qd", GATE.encode())
        self.succeeds("convert", "gate.qd", "gate.onnx")
        self.succeeds("calibrate", "gate.onnx", "--random", 2, "-o", "s.json")
        found = {}
        for kernels in ("", "any", "openvino"):
            options = ("--kernels", kernels) if kernels else ()
            self.succeeds("convert", "gate.onnx", "out.xml", "--scheme", "static-affine",
                          "--calibration", "s.json", "--gain", "unit", *options)
            found[kernels] = self.operations("out.xml")["fake_quantize"]
        self.assertEqual(found[""], found["openvino"])
        self.assertLess(found["openvino"], found["any"])

    def test_simulated_quantization_is_converted(self):
        self.put("trained.qd", SIMULATED.encode())
        document = self.json_of("convert", "trained.qd", "out.tflite")
        self.assertEqual(document["fused"]["on_codes"], 1)
        self.assertIn("no fake quantization: w2: conv 'second' reads it as float", document["remarks"])
        self.succeeds("convert", "trained.qd", "out.onnx")
        operations = self.operations("out.onnx")
        self.assertEqual((operations["quantize"], operations["dequantize"]), (3, 4))
        self.succeeds("convert", "trained.qd", "out.xml")
        # As text it stays what it is.
        self.succeeds("convert", "trained.qd", "same.qd")
        self.assertEqual(self.operations("same.qd")["const_fake_quant"], 3)

    def test_the_missing_fake_quant_is_explained(self):
        self.put("trained.qd", SIMULATED.encode())
        done = self.run_command("explain", "trained.qd", "second", "--scheme", "qdq-fusion")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"in the way: w2", done.stdout)

    def test_fake_quants_whose_bounds_are_computed_are_named(self):
        self.put("trained.qd", SIMULATED.replace("%high: tensor<f32> = constant() [6]",
                                                 "%high: tensor<f32> = input()").encode())
        document = self.json_of("convert", "trained.qd", "out.qd", "--target", "tflite")
        self.assertIn("fake_quant: cq: its bounds are computed", document["remarks"])

    def test_statistics_and_couplings_of_the_model_itself(self):
        self.put("instrumented.qd", INSTRUMENTED.encode())
        self.succeeds("convert", "instrumented.qd", "out.qd", "--scheme", "static-affine")
        types = {line.split(":")[0]: line.split("!quant.uniform")[1].split(">")[0]
                 for line in (self.folder / "out.qd").read_text().splitlines() if line[:2] in ("%a", "%b")}
        self.assertEqual(types["%a"], types["%b"])
        self.assertIn(f"{10 / 255:.4f}"[:5], types["%a"])  # of -4 to 6

    def test_instrumentation_that_leads_to_nothing_is_told(self):
        text = INSTRUMENTED.replace("stats(%z) {layer_stats = [-5.0, 7.0]}", 'stats_ref(%z) {stats_key = "end"}')
        self.put("instrumented.qd", text.replace('coupled_ref(%sb) {coupled_key = "both"}',
                                                 'coupled_ref(%sb) {coupled_key = "other"}').encode())
        done = self.run_command("convert", "instrumented.qd", "out.qd", "--scheme", "static-affine")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"no statistics were gathered for stats_key 'end'", done.stderr)
        self.assertIn(b"no other value has the coupled_key 'other'", done.stderr)
        self.fails(USAGE, "optimize changes the values that the model has 'stats' of", "convert",
                   "instrumented.qd", "out.qd", "--scheme", "static-affine", "--optimize", "cle")

    def test_other_commands_write_onnx(self):
        for command in (("quantize", self.model, "--scheme", "weight-only"), ("transform", self.model)):
            self.fails(USAGE, "'quadrant convert' writes TFLite ones", *command, "-o", "out.tflite")
        self.assertFalse((self.folder / "out.tflite").exists())

    def test_formats_are_told_apart(self):
        self.succeeds("convert", "chain.qd", "chain.tflite")
        self.assertEqual(self.json_of("inspect", "chain.tflite")["format"], "tflite")
        self.assertEqual(self.json_of("inspect", "chain.qd")["format"], "qd")
        self.assertEqual(self.json_of("inspect", self.model)["format"], "onnx")
        self.assertIn("TFLite", self.succeeds("inspect", "chain.tflite"))

    def test_why_it_computes_on_codes(self):
        self.put("fake.qd", FAKE.encode())
        document = self.json_of("explain", "fake.qd", "--scheme", "fake_quantize", "--target",
                                "openvino-cpu")
        self.assertEqual(document["gain_unit"], "operations")
        states = [(row["value"], row["state"]) for row in document["explanations"]]
        self.assertEqual(states, [("y", "ToQuantize")])
        text = self.succeeds("explain", "fake.qd", "xq", "--scheme", "fake-quantize")
        self.assertRegex(text, r"\Axq \(dequantize\): ToQuantize\n  u8 0.01:128, gain \d+\n")
        self.assertIn("asked for u8 0.01:128 by y (operand 0)", text)
        fusion = ("explain", "chain.qd", "--scheme", "qdq_fusion")
        for target in ("tflite", "onnx-qoperator"):
            rows = self.json_of(*fusion, "--target", target)["explanations"]
            self.assertEqual([row["value"] for row in rows], ["c", "p"])
            self.assertEqual({row["state"] for row in rows}, {"ToQuantize"})
        self.assertIn("asked for i8 0.1:-5 by cq (operand 0)", self.succeeds(*fusion, "c"))
        # As convert decides, and otherwise with the options of all decisions.
        kept = self.json_of(*fusion, "--exclude", "^c$")["explanations"]
        self.assertEqual([row["state"] for row in kept], ["Unquantized", "ToQuantize"])
        self.assertIn("excluded by the pattern", kept[0]["reason"])

    def test_why_it_computes_on_real_numbers(self):
        self.put("fake.qd", FAKE.encode())
        text = self.succeeds("explain", "fake.qd", "y", "--scheme", "qdq_fusion")
        self.assertIn("its float result is an output of the model", text)
        self.put("beside.qd", BESIDE_ZERO.encode())
        result = self.run_command("explain", "beside.qd", "y", "--scheme", "fake_quantize")
        self.assertIn(b"its data is float", result.stdout)
        self.assertIn(b"note: beside.qd: fake_quantize: xq: zero is 0.5 steps off", result.stderr)
        result = self.run_command("explain", "beside.qd", "xq", "--scheme", "fake_quantize")
        self.assertTrue(result.stdout.startswith(
            b"xq (fake_quantize): Unquantized\n  zero is 0.5 steps off the grid"), result.stdout)

    def test_mistakes_about_targets(self):
        fusion = ("explain", "chain.qd", "--scheme", "qdq_fusion")
        self.fails(USAGE, "not of qdq_fusion", *fusion, "--target", "openvino-cpu")
        self.fails(USAGE, "--target is for --scheme fake_quantize and qdq_fusion", "explain",
                   self.model, "--scheme", "weight-only", "--target", "tflite")
        self.fails(USAGE, "--bits is an option of weight_only", *fusion, "--bits", 4)
        self.fails(USAGE, "does not run qdq_fusion", *fusion, "--against", "plan.json")
        self.fails(USAGE, "did you mean", *fusion, "cr2")

    def test_mistakes(self):
        self.fails(USAGE, "the ending says which format", "convert", "chain.qd", "chain.bin")
        self.fails(USAGE, "it goes with .onnx", "convert", "chain.qd", "out.tflite", "--target",
                   "onnx-qoperator")
        self.fails(USAGE, "is read", "convert", "chain.qd", "chain.qd")
        self.fails(INPUT_OUTPUT, "cannot", "convert", "none.tflite", "out.onnx")
        self.put("bad.tflite", b"TFL3 is not enough")
        self.fails(BAD_INPUT, "bad.tflite", "convert", "bad.tflite", "out.onnx")
        self.put("bad.qd", b"%x: tensor<")
        self.fails(BAD_INPUT, "bad.qd", "convert", "bad.qd", "out.onnx")
        self.assertFalse((self.folder / "out.onnx").exists())


if __name__ == "__main__":
    run_tests()
