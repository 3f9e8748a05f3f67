// A small IR, a list of operations that read results of earlier ones, and its adaptor.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/ir/mirror.hpp"
#include "quadrant/ir/ops.hpp"

namespace list_ir {

using namespace quadrant;

struct Source {
  std::size_t op = 0;
  std::uint32_t result = 0;
};

struct Op {
  std::string kind;
  std::vector<Source> reads;
  std::vector<ResultSpec> results;
  std::shared_ptr<const std::vector<std::byte>> contents = nullptr;
  Attributes attributes = {};
};

/// By number; those that are gone have no kind.
using Program = std::vector<Op>;

inline std::shared_ptr<const std::vector<std::byte>> to_contents(std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
}

/// Has no float16.
class Adaptor : public Mirror<std::size_t, TensorType> {
 public:
  explicit Adaptor(Program& program)
      : Mirror({ops::Dequantize::kind, ops::Transpose::kind}), listed(program) {
    for (std::size_t i = 0; i < program.size(); ++i) add(i);
  }

 protected:
  [[nodiscard]] NodeSpec show(std::size_t number) const override {
    const Op& op = listed[number];
    NodeSpec node{.kind = op.kind, .results = op.results, .attributes = op.attributes};
    for (const Source& source : op.reads) {
      node.operands.push_back(value(source.op, source.result));
    }
    if (op.contents) {
      const TensorType& type = op.results[0].type;
      node.constant = Constant::from_shared(type.element, type.shape, {op.contents, *op.contents});
    }
    return node;
  }
  [[nodiscard]] Expected<TensorType> convert(const TensorType& type) const override {
    if (type.element == ElementType::float16) return fail(ErrorCode::impossible, "no float16");
    return type;
  }
  Expected<std::size_t> make(const NodeSpec& spec, TensorType type) override {
    Op op{.kind = spec.kind, .attributes = spec.attributes};
    op.results.push_back({spec.results[0].name, std::move(type)});
    for (const Value value : spec.operands) op.reads.push_back(source(value));
    listed.push_back(std::move(op));
    return listed.size() - 1;
  }
  Expected<void> connect(NodeId node, std::uint32_t operand, Value value) override {
    listed[op(node)].reads[operand] = source(value);
    return {};
  }
  Expected<void> retype(Value value, TensorType type) override {
    result(value).type = std::move(type);
    return {};
  }
  Expected<void> refill(NodeId node, const Constant& contents, TensorType type) override {
    QUADRANT_TRY(const ConstantBytes bytes, contents.read());
    listed[op(node)].contents =
        std::make_shared<std::vector<std::byte>>(bytes.bytes().begin(), bytes.bytes().end());
    result({node}).type = std::move(type);
    return {};
  }
  void rename(Value value, const std::string& name) override { result(value).name = name; }
  Expected<bool> remove(NodeId node) override {
    listed[op(node)] = {};
    return true;
  }

  [[nodiscard]] Source source(Value value) const { return {op(value), value.result}; }
  [[nodiscard]] ResultSpec& result(Value value) { return listed[op(value)].results[value.result]; }

  Program& listed;
};

/// Two products of one input, the second of two results, and a sum of both.
inline Program program() {
  const auto f32 = [](Shape shape) {
    return TensorType{ElementType::float32, std::move(shape), {}};
  };
  const std::vector<float> six{1, 2, 3, 4, 5, 6};
  const std::vector<float> four{1, 2, 3, 4};
  return {{.kind = "input", .results = {{"x", f32({4, 3})}}},
          {.kind = "constant", .results = {{"w", f32({3, 2})}}, .contents = to_contents(six)},
          {.kind = "constant", .results = {{"v", f32({2, 2})}}, .contents = to_contents(four)},
          {.kind = "matmul", .reads = {{0}, {1}}, .results = {{"a", f32({4, 2})}}},
          {.kind = "matmul", .reads = {{3}, {2}}, .results = {{"b", f32({4, 2})}}},
          {.kind = "list.two",
           .reads = {{3}, {1}},
           .results = {{"c", f32({4, 2})}, {"d", f32({4, 2})}}},
          {.kind = "add", .reads = {{4}, {5, 1}}, .results = {{"e", f32({4, 2})}}},
          {.kind = "output", .reads = {{6}}}};
}

}  // namespace list_ir
