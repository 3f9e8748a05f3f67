// What an operation of linalg computes of one element each: the operations of its region.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/constant.hpp"

namespace quadrant::inline v0::mlir_ir {

/// A number inside a region.
struct Scalar {
  std::string name;
  ElementType element = ElementType::undefined;  ///< of what is no `index`
};

/// Names of values, no two alike in a module.
class Names {
 public:
  [[nodiscard]] std::string next();

 private:
  std::uint64_t made_ = 0;
};

class Region {
 public:
  /// A region whose block has these arguments.
  Region(Names& names, std::span<const ElementType> arguments);

  [[nodiscard]] const Scalar& argument(std::size_t index) const { return arguments_[index]; }

  /// `op` of operands of one type, which the result has, too.
  Scalar apply(std::string_view op, std::initializer_list<Scalar> operands);
  /// With a result of another type.
  Scalar convert(std::string_view op, const Scalar& operand, ElementType element);
  Scalar number(ElementType element, double value);
  /// `value`, of the type of `like`.
  Scalar number(const Scalar& like, double value) { return number(like.element, value); }

  Scalar add(const Scalar& a, const Scalar& b);
  Scalar subtract(const Scalar& a, const Scalar& b);
  Scalar multiply(const Scalar& a, const Scalar& b);
  Scalar divide(const Scalar& a, const Scalar& b);
  Scalar larger(const Scalar& a, const Scalar& b);
  Scalar smaller(const Scalar& a, const Scalar& b);
  enum class Test : std::uint8_t { equal, unequal, less, less_or_equal };
  Scalar test(Test test, const Scalar& a, const Scalar& b);
  Scalar select(const Scalar& condition, const Scalar& yes, const Scalar& no);
  Scalar cast(const Scalar& value, ElementType to);

  /// The index of a loop.
  std::string index(std::size_t loop);
  /// An integer as an index; one below 0 counts from `extent`.
  std::string index_of(const Scalar& value, std::int64_t extent);
  /// start + step * index
  std::string moved_index(const std::string& index, std::int64_t start, std::int64_t step);
  /// An element of a tensor of that type.
  Scalar extract(const std::string& tensor, const std::string& type, ElementType element,
                 std::span<const std::string> indices);

  void yield(const Scalar& value);
  /// With braces.
  [[nodiscard]] std::string text() const;

 private:
  std::string line(std::string_view op, std::span<const std::string> operands,
                   std::string_view properties, std::span<const std::string> types,
                   std::string_view result);
  std::string index_number(std::int64_t value);

  Names& names_;
  std::vector<Scalar> arguments_;
  std::string text_;
};

/// Of integers without a sign, which only operations tell apart.
[[nodiscard]] bool is_unsigned(ElementType element);

/// `addf`, `addi`, ...: the operation of `arith` on numbers of that type.
struct Arithmetic {
  std::string_view real;
  std::string_view integer;
  std::string_view unsigned_integer = integer;
};
[[nodiscard]] std::string_view operation_of(const Arithmetic& arithmetic, ElementType element);
inline constexpr Arithmetic addition{"arith.addf", "arith.addi"};
inline constexpr Arithmetic subtraction{"arith.subf", "arith.subi"};
inline constexpr Arithmetic multiplication{"arith.mulf", "arith.muli"};
inline constexpr Arithmetic division{"arith.divf", "arith.divsi", "arith.divui"};
inline constexpr Arithmetic remainder_of_division{"arith.remf", "arith.remsi", "arith.remui"};
inline constexpr Arithmetic maximum{"arith.maximumf", "arith.maxsi", "arith.maxui"};
inline constexpr Arithmetic minimum{"arith.minimumf", "arith.minsi", "arith.minui"};

}  // namespace quadrant::inline v0::mlir_ir
