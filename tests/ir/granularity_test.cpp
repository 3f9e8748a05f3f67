#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "quadrant/ir/type.hpp"

using namespace quadrant;

TEST_CASE("granularity: as text and back") {
  CHECK(Granularity::per_tensor().print() == "tensor");
  CHECK(Granularity::per_axis(1).print() == "axis=1");
  CHECK(Granularity::per_block(0, 32).print() == "axis=0 block=32");
  for (const Granularity& each :
       {Granularity::per_tensor(), Granularity::per_axis(0), Granularity::per_axis(INT64_MAX),
        Granularity::per_block(0, 1), Granularity::per_block(3, INT64_MAX)}) {
    CAPTURE(each.print());
    CHECK(Granularity::parse(each.print()) == each);
  }
}

TEST_CASE("granularity: text of another form is none") {
  for (const std::string_view text : {"",
                                      " ",
                                      "Tensor",
                                      "tensor ",
                                      " tensor",
                                      "axis",
                                      "axis=",
                                      "axis= 1",
                                      "axis=-1",
                                      "axis=+1",
                                      "axis=1 ",
                                      "axis=1x",
                                      "axis=0x1",
                                      "axis=1 block",
                                      "axis=1 block=",
                                      "axis=1 block=0",
                                      "axis=1 block=-4",
                                      "axis=1  block=4",
                                      "axis=1 block=4 ",
                                      "block=4",
                                      "block=4 axis=1",
                                      "axis=9223372036854775808",
                                      "axis=0 block=99999999999999999999"}) {
    CAPTURE(text);
    CHECK_FALSE(Granularity::parse(text).has_value());
  }
  CHECK_FALSE(Granularity::parse(std::string_view("tensor\0", 7)).has_value());
}

TEST_CASE("granularity: in order of kind, axis, block size, whatever the order of lists") {
  const std::vector<Granularity> ordered{
      Granularity::per_tensor(),    Granularity::per_axis(0),     Granularity::per_axis(1),
      Granularity::per_axis(10),    Granularity::per_block(0, 8), Granularity::per_block(0, 16),
      Granularity::per_block(1, 2),
  };
  std::set<std::size_t> hashes;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      CHECK((ordered[i] < ordered[j]) == (i < j));
      CHECK((ordered[i] == ordered[j]) == (i == j));
    }
    const Granularity copy = ordered[i];
    CHECK(copy.hash() == ordered[i].hash());
    hashes.insert(ordered[i].hash());
  }
  CHECK(hashes.size() == ordered.size());  // few and small: no two of them collide
}
