#include "io/onnx/stream.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "io/onnx/failure.hpp"
#include "shortened.hpp"

namespace quadrant::onnx {
namespace {

// Every third iteration in another thread, from the last to the first.
class ThreeThreads final : public Executor {
 public:
  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override {
    std::vector<std::jthread> threads;
    for (std::size_t remainder = 0; remainder < 3; ++remainder) {
      threads.emplace_back([=] {
        for (std::size_t i = count; i-- > 0;) {
          if (i % 3 == remainder) body(i);
        }
      });
    }
  }
};

// What is added to a rope, and the bytes that come of it.
struct Model {
  Rope rope;
  std::string bytes;
};

void add_constant(Model& model, ElementType element, std::size_t count, std::mt19937& random) {
  std::vector<std::byte> contents(count);
  for (std::byte& code : contents) code = static_cast<std::byte>(random() & 15U);
  std::string stored;
  if (element == ElementType::uint4) {
    stored.resize((count + 1) / 2);
    for (std::size_t i = 0; i < count; ++i) {
      const int half = std::to_integer<int>(contents[i]) << (i % 2 == 0 ? 0 : 4);
      stored[i / 2] = static_cast<char>(stored[i / 2] | half);
    }
  } else {
    stored.assign(reinterpret_cast<const char*>(contents.data()), count);
  }
  model.rope.add_raw(
      Constant::from_bytes(element, {static_cast<std::int64_t>(count)}, std::move(contents)));
  model.bytes += stored;
}

Model make_model(std::size_t payloads, std::size_t largest, std::mt19937& random) {
  Model model;
  for (std::size_t i = 0; i < payloads; ++i) {
    // A text field: tag 1, length, text.
    const std::string text(random() % 100, 'x');
    model.rope.add_text(1, text);
    model.bytes += '\x0a';
    model.bytes += static_cast<char>(text.size());
    model.bytes += text;
    const ElementType element = random() % 2 == 0 ? ElementType::uint4 : ElementType::uint8;
    add_constant(model, element, random() % largest, random);
  }
  return model;
}

struct Streamed {
  std::string bytes;
  std::uint64_t hash = 0;
  std::uint64_t done = 0;
};

Streamed stream_with(const Rope& rope, Executor& executor) {
  Streamed made;
  made.bytes.resize(rope.size());
  std::mutex writing;
  made.hash = stream(
      rope, executor,
      [&](std::uint64_t offset, std::span<const std::byte> bytes) {
        const std::lock_guard lock(writing);
        std::memcpy(made.bytes.data() + offset, bytes.data(), bytes.size());
      },
      [&](std::uint64_t bytes) { made.done += bytes; });
  return made;
}

TEST_CASE("stream: own bytes and contents, in order, whatever lies on the border of two pieces") {
  std::mt19937 random(1);
  for (const auto& [payloads, largest] : {std::pair<std::size_t, std::size_t>{0, 1},
                                          {1, 10},
                                          {30000, 200},
                                          {20, 1'000'000},
                                          {3, 5'000'000}}) {
    const Model model = make_model(payloads, largest, random);
    REQUIRE(model.rope.size() == model.bytes.size());
    SerialExecutor serial;
    ThreeThreads threads;
    const Streamed one = stream_with(model.rope, serial);
    const Streamed three = stream_with(model.rope, threads);
    const bool equal = one.bytes == model.bytes && three.bytes == model.bytes;
    CHECK(equal);
    CHECK(one.hash == three.hash);
    CHECK(one.done == model.bytes.size());
  }
}

// Bytes that are far apart, as it says, and the sizes of the reads that it was asked for.
class Gathering final : public ConstantSource {
 public:
  explicit Gathering(std::string bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::lock_guard lock(mutex_);
    sizes_.push_back(out.size());
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }
  [[nodiscard]] bool gathers() const noexcept override { return true; }
  [[nodiscard]] std::vector<std::size_t> sizes() const {
    const std::lock_guard lock(mutex_);
    return sizes_;
  }

 private:
  std::string bytes_;
  mutable std::mutex mutex_;
  mutable std::vector<std::size_t> sizes_;
};

TEST_CASE("stream: what gathers is read in few large parts, and hashed like other contents") {
  std::mt19937 random(3);
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  test::Turns turns;
  // Within a piece, whole pieces, more than a round, and between other contents.
  for (const std::size_t size : {std::size_t{1000}, 8 * mebibyte, 70 * mebibyte + 12345}) {
    for (const std::size_t before : {std::size_t{0}, mebibyte / 2, 3 * mebibyte}) {
      if (!turns.next()) continue;
      Model given = make_model(1, before + 1, random);
      std::string bytes(size, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random() & 0xffU);
      const auto source = std::make_shared<Gathering>(bytes);
      Rope stored = given.rope;
      const Shape shape{static_cast<std::int64_t>(size)};
      given.rope.add_raw(Constant::deferred(ElementType::uint8, shape, source));
      const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
      stored.add_raw(Constant::from_bytes(ElementType::uint8, shape, {first, first + size}));
      given.bytes += bytes;

      ThreeThreads threads;
      const Streamed gathered = stream_with(given.rope, threads);
      const bool equal = gathered.bytes == given.bytes;
      CHECK(equal);
      CHECK(gathered.hash == stream_with(stored, threads).hash);
      CHECK(gathered.done == given.bytes.size());
      // Parts of the same size, but for the last one.
      const std::vector<std::size_t> sizes = source->sizes();
      CHECK(sizes.size() == (size + 32 * mebibyte - 1) / (32 * mebibyte));
      CHECK(std::ranges::max(sizes) <= 32 * mebibyte);
    }
  }
}

// Cannot be read; says which it is.
class Broken final : public ConstantSource {
 public:
  explicit Broken(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] Expected<void> read(std::uint64_t /*offset*/,
                                    std::span<std::byte> /*out*/) const override {
    return fail(ErrorCode::io, name_);
  }

 private:
  std::string name_;
};

TEST_CASE("stream: of several errors, the first in the file is told, in any order of parts") {
  constexpr std::int64_t size = 3'000'000;
  Rope rope;
  rope.add_raw(Constant::from_bytes(ElementType::uint8, {size}, std::vector<std::byte>(size)));
  for (const char* name : {"first", "second", "third"}) {
    rope.add_raw(Constant::deferred(ElementType::uint8, {size}, std::make_shared<Broken>(name)));
  }
  SerialExecutor serial;
  ThreeThreads threads;
  for (Executor* const executor :
       {static_cast<Executor*>(&serial), static_cast<Executor*>(&threads)}) {
    try {
      stream_with(rope, *executor);
      FAIL("it cannot be written");
    } catch (const Failure& failure) {
      CHECK(failure.error.message == "first");
    }
  }
}

TEST_CASE("stream: the hash tells contents apart by any byte") {
  std::mt19937 random(2);
  SerialExecutor serial;
  std::vector<std::byte> contents(3'000'000);
  const auto hash = [&] {
    Rope rope;
    rope.add_raw(Constant::from_bytes(ElementType::uint8,
                                      {static_cast<std::int64_t>(contents.size())}, contents));
    return stream_with(rope, serial).hash;
  };
  const std::uint64_t before = hash();
  for (int i = 0; i < 20; ++i) {
    const std::size_t place = random() % contents.size();
    contents[place] = std::byte{1};
    CHECK(hash() != before);
    contents[place] = std::byte{0};
  }
  CHECK(hash() == before);
}

}  // namespace
}  // namespace quadrant::onnx
