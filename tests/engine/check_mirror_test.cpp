// Mistakes that are made with a mirror, one at a time, each found by its rule.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/list_ir.hpp"
#include "quadrant/engine/check_rewriter.hpp"

namespace {

using namespace quadrant;

enum class MirrorMistake : std::uint8_t {
  none,
  make_forgets_an_operand,
  make_makes_another_kind,
  make_forgets_attributes,
  make_takes_a_name_that_is_taken,
  make_returns_what_was_there,
  connect_does_nothing,
  connect_takes_another_operand,
  connect_replaces_all,
  retype_does_nothing,
  retype_changes_another_value,
  refill_forgets_the_scales,
  refill_keeps_the_contents,
  refill_overwrites_the_contents,
  rename_does_nothing,
  rename_takes_a_name_that_is_taken,
  remove_takes_another,
  refuses_half_way,
  refuses_with_another_code,
  promises_too_much,
};

class Mistaken final : public list_ir::Adaptor {
 public:
  Mistaken(list_ir::Program& program, MirrorMistake mistake)
      : Adaptor(program), mistake_(mistake) {}

 private:
  using Mistake = MirrorMistake;

  Expected<std::size_t> make(const NodeSpec& spec, TensorType type) override {
    NodeSpec made = spec;
    if (mistake_ == Mistake::make_forgets_an_operand) made.operands.clear();
    if (mistake_ == Mistake::make_makes_another_kind) made.kind = "list.other";
    if (mistake_ == Mistake::make_forgets_attributes) made.attributes = {};
    if (mistake_ == Mistake::make_takes_a_name_that_is_taken) made.results[0].name = "x";
    if (mistake_ == Mistake::make_returns_what_was_there) return op(spec.operands[0]);
    return Adaptor::make(made, std::move(type));
  }
  Expected<void> connect(NodeId node, std::uint32_t operand, Value value) override {
    list_ir::Op& user = listed[op(node)];
    if (mistake_ == Mistake::connect_does_nothing) return {};
    if (mistake_ == Mistake::connect_takes_another_operand) {
      operand = static_cast<std::uint32_t>(user.reads.size()) - 1 - operand;
    }
    if (mistake_ == Mistake::connect_replaces_all) {
      const std::size_t old = user.reads[operand].op;
      for (list_ir::Op& each : listed) {
        for (list_ir::Source& read : each.reads) {
          if (read.op == old) read = source(value);
        }
      }
    }
    return Adaptor::connect(node, operand, value);
  }
  Expected<void> retype(Value value, TensorType type) override {
    if (mistake_ == Mistake::retype_does_nothing) return {};
    if (mistake_ == Mistake::retype_changes_another_value) listed[0].results[0].type = type;
    if (mistake_ == Mistake::refuses_half_way) {
      result(value).type = std::move(type);
      return fail(ErrorCode::impossible, "no such type");
    }
    if (mistake_ == Mistake::refuses_with_another_code) {
      return fail(ErrorCode::usage, "no such type");
    }
    return Adaptor::retype(value, std::move(type));
  }
  Expected<void> refill(NodeId node, const Constant& contents, TensorType type) override {
    if (mistake_ == Mistake::promises_too_much) return fail(ErrorCode::impossible, "no codes");
    const list_ir::Op before = listed[op(node)];
    if (mistake_ == Mistake::refill_overwrites_the_contents) {
      std::ranges::fill(const_cast<std::vector<std::byte>&>(*before.contents),
                        std::byte{});  // NOLINT
    }
    QUADRANT_CHECK(Adaptor::refill(node, contents, std::move(type)));
    if (mistake_ == Mistake::refill_forgets_the_scales) result({node}).type.quantization = {};
    if (mistake_ == Mistake::refill_keeps_the_contents) {
      const auto floats = std::as_bytes(std::span(*before.contents)).first(contents.byte_size());
      listed[op(node)].contents =
          std::make_shared<std::vector<std::byte>>(floats.begin(), floats.end());
    }
    return {};
  }
  void rename(Value value, const std::string& name) override {
    if (mistake_ == Mistake::rename_does_nothing) return;
    const bool is_taken = mistake_ == Mistake::rename_takes_a_name_that_is_taken;
    Adaptor::rename(value, is_taken ? "x" : name);
  }
  Expected<bool> remove(NodeId node) override {
    if (mistake_ == Mistake::remove_takes_another) return Adaptor::remove(id(6));
    return Adaptor::remove(node);
  }

  MirrorMistake mistake_;
};

RewriterCheck check(MirrorMistake mistake) {
  std::vector<std::unique_ptr<list_ir::Program>> programs;
  return check_rewriter([&] {
    auto& program = programs.emplace_back(std::make_unique<list_ir::Program>(list_ir::program()));
    return std::make_unique<Mistaken>(*program, mistake);
  });
}

}  // namespace

TEST_CASE("a mirror that does what it should has no faults") {
  const RewriterCheck found = check(MirrorMistake::none);
  for (const RewriterFault& fault : found.faults) MESSAGE(fault.rule, ": ", fault.message);
  CHECK(found.faults.empty());
  CHECK(found.refused.empty());
}

TEST_CASE("each mistake in a mirror is found by its rule") {
  const auto found_by = [](MirrorMistake mistake, std::string_view rule) {
    CAPTURE(static_cast<int>(mistake));
    CAPTURE(rule);
    std::string rules;
    const RewriterCheck found = check(mistake);
    for (const RewriterFault& fault : found.faults) rules += std::string(fault.rule) + " ";
    CAPTURE(rules);
    CHECK(std::ranges::find(found.faults, rule, &RewriterFault::rule) != found.faults.end());
  };
  using Mistake = MirrorMistake;
  found_by(Mistake::make_forgets_an_operand, "operands");
  found_by(Mistake::make_makes_another_kind, "kinds");
  found_by(Mistake::make_forgets_attributes, "attributes");
  found_by(Mistake::make_takes_a_name_that_is_taken, "view");
  found_by(Mistake::make_returns_what_was_there, "kinds");
  found_by(Mistake::connect_does_nothing, "operands");
  found_by(Mistake::connect_takes_another_operand, "view");
  found_by(Mistake::connect_replaces_all, "view");
  found_by(Mistake::retype_does_nothing, "types");
  found_by(Mistake::retype_changes_another_value, "view");
  found_by(Mistake::refill_forgets_the_scales, "types");
  found_by(Mistake::refill_keeps_the_contents, "contents");
  found_by(Mistake::refill_overwrites_the_contents, "contents");
  found_by(Mistake::rename_does_nothing, "names");
  found_by(Mistake::rename_takes_a_name_that_is_taken, "view");
  found_by(Mistake::remove_takes_another, "view");
  found_by(Mistake::refuses_half_way, "refusal");
  found_by(Mistake::refuses_with_another_code, "refusal");
  found_by(Mistake::promises_too_much, "capabilities");
}
