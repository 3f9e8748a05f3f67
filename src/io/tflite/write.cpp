// Graphs to files.
#include "io/tflite/failure.hpp"
#include "io/tflite/lower.hpp"
#include "ir/aliases.hpp"
#include "ir/explicit_formats.hpp"
#include "ir/fold_moves.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/put_in_place.hpp"
#include "ir/scales.hpp"
#include "numerics/code_sign.hpp"
#include "numerics/quantize_constant.hpp"
#include "quadrant/io/tflite.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {

namespace {

/// CAST takes no integers of 4 bits: constants of these are codes that mean themselves, which
/// arithmetic packs.
void read_4_bits_as_codes(Graph& graph) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId cast = graph.node_at(index);
    if (!cast.is_valid() || graph.kind(cast) != ops::Cast::kind) continue;
    const NodeRef node = graph.ref(cast);
    const Constant* const found = node.operand_constant(0);
    if (found == nullptr || !*found || node.operand_type(0)->is_quantized()) continue;
    const Constant codes = *found;
    const bool is_signed = codes.element() == ElementType::int4;
    if (!is_signed && codes.element() != ElementType::uint4) continue;
    const std::string name(graph.value_name(node.operand(0)));
    const Value stored = graph.add_constant(name, codes);
    NumberFormat format{.code = IntegerCode::of(4, is_signed)};
    graph.set_constant(stored.node, codes, ScaledFormat{std::move(format), {}, {}, {}});
    const Value reals = add_cast(graph, ops::Dequantize::kind, stored, name, name + "_reals",
                                 {ElementType::float32, codes.shape(), nullptr});
    if (graph.type({cast}).element == ElementType::float32) {
      put_in_place(graph, cast, reals);
    } else {
      graph.set_operand(cast, 0, reals);
    }
  }
}

/// DEQUANTIZE takes codes of 4 and 2 bits with a sign alone.
void give_sign_to_weights(Graph& graph) {
  const auto is_weight = [&](NodeId maker) { return graph.constant(maker) != nullptr; };
  tflite::value_of(change_sign(graph, free_codes(graph, ElementType::uint4, is_weight)));
}

}  // namespace

Expected<std::vector<std::byte>> tflite_bytes(const Graph& graph, const TfliteWriteOptions& options,
                                              TfliteWriteReport* report) {
  return tflite::at_border("", [&] {
    TfliteWriteReport made;
    note_rounded_scales(graph, options.sink);
    Graph prepared = graph;
    tflite::value_of(resolve_aliases(prepared));
    tflite::value_of(fold_moves_of_4_bits(prepared));
    read_4_bits_as_codes(prepared);
    tflite::value_of(quantize_constants_of_formats(prepared));
    tflite::value_of(make_formats_explicit(prepared, options.sink));
    tflite::value_of(fold_moved_codes(prepared));
    give_sign_to_weights(prepared);
    std::vector<std::byte> bytes = tflite::Lowering(std::move(prepared), options, made).run();
    made.file_bytes = bytes.size();
    if (report) *report = std::move(made);
    return bytes;
  });
}

Expected<TfliteWriteReport> write_tflite(const Graph& graph, const std::filesystem::path& path,
                                         const TfliteWriteOptions& options) {
  TfliteWriteReport report;
  auto bytes = tflite_bytes(graph, options, &report);
  if (!bytes) {
    Error error = std::move(bytes).error();
    if (error.place.file.empty()) error.place.file = path.string();
    return fail(std::move(error));
  }
  FilesOrOwn files(options.files);
  QUADRANT_TRY(NewFile file, files->create(path.string()));
  QUADRANT_CHECK(file.write(*bytes));
  files->add_model(std::move(file));
  QUADRANT_CHECK(files.finish());
  return report;
}

}  // namespace quadrant::inline v0
