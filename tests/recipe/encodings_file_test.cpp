#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "quadrant/ir/text.hpp"
#include "quadrant/recipe/encodings.hpp"

namespace quadrant {
namespace {

Graph small_model() {
  return parse_graph(
             "%input: tensor<2x3xf32> = input()\n"
             "%weight: tensor<3x2xf32> = constant() [1, 2, 3, 4, 5, 6]\n"
             "%dense: tensor<2x2xf32> = matmul(%input, %weight)\n"
             "output(%dense)\n")
      .value();
}

EncodingsFile file_of(const std::vector<std::string>& names) {
  EncodingsFile file;
  for (const std::string& name : names) {
    TensorEncoding& encoding = file.tensors[name];
    encoding.scales = {1};
    encoding.zero_points = {0};
  }
  return file;
}

TEST_CASE("names of a file must be those of the model") {
  const Graph graph = small_model();
  CHECK(check_names(file_of({"input", "weight", "dense"}), graph).has_value());
  CHECK(check_names(file_of({}), graph).has_value());
  const Expected<void> near = check_names(file_of({"wieght", "dense"}), graph);
  REQUIRE_FALSE(near.has_value());
  CHECK(near.error().code == ErrorCode::usage);
  CHECK(near.error().message == "the model has no value 'wieght'; did you mean 'weight'?");
  CHECK(near.error().place.tensor == "wieght");
  const Expected<void> many = check_names(file_of({"p1", "p2", "p3", "p4", "p5"}), graph);
  REQUIRE_FALSE(many.has_value());
  CHECK(many.error().message ==
        "the model has no value 'p1'; the model has no value 'p2'; the model has no value 'p3'; "
        "and 2 more");
}

TEST_CASE("roles follow from the model") {
  const Graph graph = small_model();
  EncodingsFile file = file_of({"input", "weight", "dense"});
  file.tensors["dense"].role = TensorEncoding::Role::parameter;  // as the file said
  REQUIRE(set_roles(file, graph).has_value());
  CHECK(file.tensors["input"].role == TensorEncoding::Role::activation);
  CHECK(file.tensors["weight"].role == TensorEncoding::Role::parameter);
  CHECK(file.tensors["dense"].role == TensorEncoding::Role::parameter);
  EncodingsFile unknown = file_of({"input", "nowhere"});
  CHECK_FALSE(set_roles(unknown, graph).has_value());
  CHECK(unknown.tensors["input"].role == TensorEncoding::Role::unknown);
}

}  // namespace
}  // namespace quadrant
