#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "ir/base64.hpp"
#include "ir/float16.hpp"
#include "ir/result_type.hpp"
#include "ir/text_syntax.hpp"
#include "ir/type_text.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"

namespace quadrant::inline v0 {
namespace {

using detail::is_key_char;
using detail::is_kind_char;
using detail::is_made_of;
using detail::is_name_char;
using detail::is_word_start;

// Bytes of the well-formed UTF-8 sequence at the front (Unicode 15, table 3-7); 0 where there is
// none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (lead < 0x80U) return 1;
  if (lead >= 0xc2U && lead <= 0xdfU) return continues(1) ? 2 : 0;
  if (lead >= 0xe0U && lead <= 0xefU) {
    const bool overlong = lead == 0xe0U && byte(1) < 0xa0U;
    const bool surrogate = lead == 0xedU && byte(1) > 0x9fU;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xf0U && lead <= 0xf4U) {
    const bool overlong = lead == 0xf0U && byte(1) < 0x90U;
    const bool too_large = lead == 0xf4U && byte(1) > 0x8fU;
    return continues(1) && continues(2) && continues(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

class Printer {
 public:
  /// `is_whole`: what is larger than the options say, or deferred, is not left out.
  Printer(const Graph& graph, const PrintOptions& options, bool is_whole)
      : graph_(&graph), largest_(options.largest_constant), is_whole_(is_whole) {}

  /// Nothing fails unless it is whole.
  Expected<std::string> run() {
    if (!graph_->attributes().empty()) {
      out_ += "graph";
      dict({}, graph_->attributes());
      out_ += '\n';
    }
    if (const std::vector<std::string> names = graph_->reserved_names(); !names.empty()) {
      out_ += "reserved ";
      attribute(names);
      out_ += '\n';
    }
    for (const NodeId id : order()) {
      node(id);
      if (!status_) return fail(detail::at(graph_->ref(id), std::move(status_).error()));
    }
    if (!status_) return fail(std::move(status_).error());
    return std::move(out_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  // Inputs, the rest, outputs: what is read back has its inputs and outputs in the same order. In
  // between, the nodes keep their order where they can, so that printing again gives the same.
  [[nodiscard]] std::vector<NodeId> order() const {
    std::vector<NodeId> nodes;
    nodes.reserve(graph_->node_count());
    for (std::uint32_t i = 0; i < graph_->index_bound(); ++i) {
      if (const NodeId node = graph_->node_at(i); node.is_valid()) nodes.push_back(node);
    }
    const bool in_order = std::ranges::all_of(nodes, [&](NodeId node) {
      return std::ranges::all_of(graph_->operands(node), [&](const Value& operand) {
        return operand.is_absent() || operand.node.index < node.index;
      });
    });
    if (!in_order) {
      // With a cycle there is no order; the text is for people then.
      if (auto sorted = order_of_making(*graph_)) nodes = *std::move(sorted);
    }
    std::vector<NodeId> ordered(graph_->inputs().begin(), graph_->inputs().end());
    std::ranges::copy_if(nodes, std::back_inserter(ordered), [&](NodeId node) {
      return graph_->kind(node) != ops::Input::kind && graph_->kind(node) != ops::Output::kind;
    });
    std::ranges::copy(graph_->outputs(), std::back_inserter(ordered));
    return ordered;
  }

  void node(NodeId id) {
    const std::uint32_t results = graph_->result_count(id);
    for (std::uint32_t result = 0; result < results; ++result) {
      if (result != 0) out_ += ", ";
      value({id, result});
      out_ += ": ";
      type(graph_->type({id, result}));
    }
    if (results != 0) out_ += " = ";
    const std::string_view kind = graph_->kind(id);
    if (!kind.empty() && is_word_start(kind.front()) && is_made_of(kind, is_kind_char)) {
      out_ += kind;
    } else {
      string(kind);
    }
    out_ += '(';
    bool first = true;
    for (const Value operand : graph_->operands(id)) {
      if (!std::exchange(first, false)) out_ += ", ";
      if (operand.is_absent()) {
        out_ += '_';
      } else {
        value(operand);
      }
    }
    out_ += ')';
    if (const Constant* constant = graph_->constant(id); constant && *constant) {
      const bool typed = results == 1 && graph_->type({id, 0}).element == constant->element() &&
                         graph_->type({id, 0}).shape == constant->shape();
      out_ += ' ';
      if (!typed) type_of(*constant);
      contents(*constant);
    }
    dict(graph_->name(id), graph_->attributes(id));
    out_ += '\n';
  }

  void type(const TensorType& type) {
    if (!is_whole_ || !type.is_quantized()) {
      out_ += detail::print_type(type, largest_);
      return;
    }
    // Parameters are numbers, however many there are.
    if (type.quantization.other()) {
      numbers(type);
      return;
    }
    UniformType read = *type.uniform();
    make_ready(read.scales);
    make_ready(read.zero_points);
    if (!status_) return;
    // The reader has the shape of the scales from that of the tensor.
    const bool is_said =
        read.granularity.kind != Granularity::Kind::block || type.shape.is_static();
    if (!is_said && status_) {
      status_ = fail(ErrorCode::impossible,
                     "text cannot say scales of blocks where an extent is not known");
    }
    // Nobody looked at what was deferred: what breaks a rule could not be read again.
    if (const auto sound = verify(read, type.shape); !sound && status_) status_ = sound;
    out_ += detail::print_type(
        {type.element, type.shape, std::make_shared<const UniformType>(std::move(read))},
        INT64_MAX);
  }

  void numbers(const TensorType& type) {
    ScaledFormat read = *type.quantization.other();
    for (std::vector<Constant>* const levels : {&read.scales, &read.offsets}) {
      for (Constant& level : *levels) make_ready(level);
    }
    make_ready(read.table);
    if (!status_) return;
    if (const auto sound = verify(read, type.shape); !sound && status_) status_ = sound;
    out_ += detail::print_type({type.element, type.shape, read}, INT64_MAX);
  }

  void make_ready(Constant& parameters) {
    if (!parameters || !parameters.is_deferred()) return;
    if (const auto bytes = bytes_of(parameters)) {
      parameters = Constant::from_shared(parameters.element(), parameters.shape(), *bytes);
    }
  }

  // Empty where they cannot be read: why that is, is kept.
  std::optional<ConstantBytes> bytes_of(const Constant& constant) {
    auto bytes = constant.read();
    if (bytes) return *std::move(bytes);
    if (status_) status_ = fail(std::move(bytes).error());
    return std::nullopt;
  }

  void value(Value value) {
    const std::string_view name = graph_->value_name(value);
    out_ += '%';
    if (is_made_of(name, is_name_char)) {
      out_ += name;
    } else {
      string(name);
    }
  }

  void dict(std::string_view name, const Attributes& attributes) {
    if (name.empty() && attributes.empty()) return;
    out_ += " {";
    bool first = true;
    if (!name.empty()) {
      out_ += "name = ";
      string(name);
      first = false;
    }
    for (const auto& [key, attribute] : attributes) {
      if (!std::exchange(first, false)) out_ += ", ";
      if (key != "name" && !key.empty() && is_word_start(key.front()) &&
          is_made_of(key, is_key_char)) {
        out_ += key;
      } else {
        string(key);
      }
      out_ += " = ";
      std::visit([this](const auto& value) { this->attribute(value); }, attribute);
    }
    out_ += '}';
  }

  void attribute(std::int64_t value) { add("{}", value); }
  void attribute(double value) { real(value); }
  void attribute(const std::string& value) { string(value); }
  void attribute(const std::vector<std::int64_t>& values) {
    list(values, [this](std::int64_t value) { attribute(value); });
  }
  void attribute(const std::vector<double>& values) {
    if (values.empty()) out_ += "real";
    list(values, [this](double value) { real(value); });
  }
  void attribute(const std::vector<std::string>& values) {
    if (values.empty()) out_ += "string";
    list(values, [this](const std::string& value) { string(value); });
  }
  void attribute(const Constant& constant) {
    if (!constant) {
      out_ += "tensor<>";
      return;
    }
    type_of(constant);
    contents(constant);
  }
  void attribute(const Opaque& opaque) {
    out_ += "opaque(";
    string(opaque.format);
    out_ += ", ";
    const Constant& bytes = opaque.bytes;
    if (bytes && (is_whole_ || !bytes.is_deferred()) && bytes.element() == ElementType::uint8 &&
        bytes.shape().rank() == 1 && bytes.element_count() <= largest_) {
      out_ += "0x";
      const auto read = bytes_of(bytes);
      if (!read) return;
      for (const std::byte byte : read->bytes()) add("{:02x}", static_cast<unsigned>(byte));
    } else {
      attribute(bytes);
    }
    out_ += ')';
  }

  template <class Values, class Print>
  void list(const Values& values, Print print) {
    out_ += '[';
    bool first = true;
    for (const auto& value : values) {
      if (!std::exchange(first, false)) out_ += ", ";
      print(value);
    }
    out_ += ']';
  }

  void type_of(const Constant& constant) {
    out_ += to_string(TensorType{constant.element(), constant.shape(), nullptr});
  }

  void contents(const Constant& constant) {
    const auto width = static_cast<std::size_t>(byte_width(constant.element()));
    const bool is_large = constant.element_count() > largest_;
    if (width == 0 || (!is_whole_ && (is_large || constant.is_deferred()))) {
      out_ += "<...>";
      return;
    }
    const auto read = bytes_of(constant);
    if (!read) return;
    if (is_large) {
      out_ += "base64(\"";
      detail::append_base64(read->bytes(), out_);
      out_ += "\")";
      return;
    }
    out_ += '[';
    for (std::size_t at = 0; at < read->bytes().size(); at += width) {
      if (at != 0) out_ += ", ";
      element(constant.element(), read->bytes().data() + at);
    }
    out_ += ']';
  }

  void element(ElementType type, const std::byte* at) {
    switch (type) {
      case ElementType::int4:
      case ElementType::int8:
        add("{}", int{load<std::int8_t>(at)});
        break;
      case ElementType::boolean:
      case ElementType::uint4:
      case ElementType::uint8:
        add("{}", unsigned{load<std::uint8_t>(at)});
        break;
      case ElementType::int16:
        add("{}", load<std::int16_t>(at));
        break;
      case ElementType::uint16:
        add("{}", load<std::uint16_t>(at));
        break;
      case ElementType::int32:
        add("{}", load<std::int32_t>(at));
        break;
      case ElementType::uint32:
        add("{}", load<std::uint32_t>(at));
        break;
      case ElementType::int64:
        add("{}", load<std::int64_t>(at));
        break;
      case ElementType::uint64:
        add("{}", load<std::uint64_t>(at));
        break;
      case ElementType::float16: {
        const auto bits = load<std::uint16_t>(at);
        number(widen_float16(bits), bits, 4, detail::plain_nan_f16);
        break;
      }
      case ElementType::bfloat16: {
        const auto bits = load<std::uint16_t>(at);
        number(widen_bfloat16(bits), bits, 4, detail::plain_nan_bf16);
        break;
      }
      case ElementType::float32:
        number(load<float>(at), load<std::uint32_t>(at), 8, detail::plain_nan_f32);
        break;
      case ElementType::float64:
        number(load<double>(at), load<std::uint64_t>(at), 16, detail::plain_nan_f64);
        break;
      default:
        return;  // of the others there are no constants
    }
  }

  // The shortest text that gives the same number back. Of a NaN, all bits in `digits` digits.
  template <class T>
  void number(T value, std::uint64_t bits, int digits, std::uint64_t plain_nan) {
    if (!std::isnan(value)) {
      add("{}", value);
    } else if (bits == plain_nan) {
      out_ += "nan";
    } else {
      add("nan(0x{:0{}x})", bits, digits);
    }
  }

  // A double that is not taken for an integer.
  void real(double value) {
    const std::size_t start = out_.size();
    number(value, std::bit_cast<std::uint64_t>(value), 16, detail::plain_nan_f64);
    if (out_.find_first_of(".en", start) == std::string::npos) out_ += ".0";
  }

  void string(std::string_view text) {
    out_ += '"';
    while (!text.empty()) {
      const std::size_t length = utf8_length(text);
      const char c = text.front();
      if (c == '"' || c == '\\') {
        out_ += '\\';
        out_ += c;
      } else if (c == '\n') {
        out_ += "\\n";
      } else if (c == '\t') {
        out_ += "\\t";
      } else if (length == 0 || static_cast<unsigned char>(c) < 0x20U || c == 0x7f) {
        add("\\x{:02x}", static_cast<unsigned char>(c));
      } else {
        out_ += text.substr(0, length);
      }
      text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    out_ += '"';
  }

  const Graph* graph_;
  std::int64_t largest_;
  bool is_whole_;
  Expected<void> status_;
  std::string out_;
};

}  // namespace

std::string print_graph(const Graph& graph, const PrintOptions& options) {
  return *Printer(graph, options, false).run();
}

Expected<std::string> print_model(const Graph& graph) { return Printer(graph, {}, true).run(); }

}  // namespace quadrant::inline v0
