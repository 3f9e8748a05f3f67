#include "quadrant/support/ranks.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/support/executor.hpp"
#include "thread_ranks.hpp"

using namespace quadrant;
using test::on_ranks;

namespace {

constexpr std::size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9};

using Texts = Expected<std::vector<std::string>>;

}  // namespace

TEST_CASE("all ranks get what all gave, in the order of ranks") {
  for (const std::size_t size : sizes) {
    CAPTURE(size);
    std::vector<std::string> wanted;
    for (std::size_t rank = 0; rank < size; ++rank) {
      wanted.emplace_back(rank * 1000, static_cast<char>('a' + rank));
    }
    const auto given = [&](Ranks& ranks) { return ranks.gather(wanted[ranks.rank()]); };
    for (const Texts& got : on_ranks(size, given)) {
      REQUIRE(got);
      CHECK(*got == wanted);
    }
  }
}

TEST_CASE("merging knows lower ranks from higher ones") {
  const auto append = [](const std::string& mine,
                         const std::string& theirs) -> Expected<std::string> {
    return '(' + mine + theirs + ')';
  };
  const auto call = [&](Ranks& ranks) {
    return ranks.combine(std::to_string(ranks.rank()), append);
  };
  const auto letters = [](std::string text) {
    std::erase_if(text, [](char c) { return c == '(' || c == ')'; });
    return text;
  };
  for (const auto& got : on_ranks(7, call)) {
    REQUIRE(got);
    CHECK(letters(*got) == "0123456");
  }
}

TEST_CASE("what is more than bytes becomes bytes once, whatever it was merged with") {
  for (const std::size_t size : sizes) {
    CAPTURE(size);
    struct Seen {
      std::string all;
      std::size_t printed = 0;
    };
    const auto call = [](Ranks& ranks) -> Expected<Seen> {
      std::vector<std::string> parts{std::to_string(ranks.rank())};
      Seen seen;
      const auto add = [&](std::string theirs) -> Expected<void> {
        CHECK(seen.printed == 0);
        parts.push_back(std::move(theirs));
        return {};
      };
      const auto print = [&] {
        ++seen.printed;
        std::string text;
        for (const std::string& part : parts) text += part;
        return text;
      };
      QUADRANT_TRY(seen.all, ranks.combine({}, add, print));
      return seen;
    };
    for (const auto& got : on_ranks(size, call)) {
      REQUIRE(got);
      CHECK(got->all == std::string("012345678").substr(0, size));
      CHECK(got->printed == 1);
    }
  }
}

TEST_CASE("merging that fails is an error of all, and of no rank") {
  const auto call = [](Ranks& ranks) {
    return ranks.combine(
        {},
        [&](const std::string& theirs) -> Expected<void> {
          return theirs == "5" ? fail(ErrorCode::invalid_model, "they do not fit")
                               : Expected<void>();
        },
        [&] { return std::to_string(ranks.rank()); });
  };
  for (const auto& got : on_ranks(7, call)) {
    REQUIRE_FALSE(got);
    CHECK(got.error().message == "they do not fit");
  }
}

TEST_CASE("an error of one is an error of all, and names it") {
  for (const std::size_t size : sizes) {
    for (std::size_t bad = 0; bad < size; ++bad) {
      CAPTURE(size);
      CAPTURE(bad);
      const auto call = [&](Ranks& ranks) -> Texts {
        QUADRANT_CHECK(ranks.agree({}));
        if (ranks.rank() == bad) {
          // It comes from elsewhere, while others wait for something else.
          auto all =
              ranks.agree(fail(ErrorCode::invalid_model, "bad", {.file = "s1.npy", .offset = 3}));
          return fail(std::move(all).error());
        }
        auto got = ranks.gather("fine");
        CHECK(ranks.gather("again") == got);  // the same answer from now on, without the others
        CHECK(ranks.has_failed());
        CHECK_FALSE(ranks.is_broken());
        return got;
      };
      for (const Texts& got : on_ranks(size, call)) {
        REQUIRE_FALSE(got);
        CHECK(got.error().code == ErrorCode::invalid_model);
        CHECK(got.error().place == Place{.file = "s1.npy", .offset = 3});
        CHECK(got.error().message == (size == 1 ? std::string("bad")
                                                : "bad (rank " + std::to_string(bad) + " of " +
                                                      std::to_string(size) + ")"));
      }
    }
  }
}

TEST_CASE("an error that all have is one error; of several, the lowest rank's counts") {
  const auto same = [](Ranks& ranks) {
    return ranks.agree(fail(ErrorCode::usage, "no option", {}, Remedy::give_samples));
  };
  for (const auto& got : on_ranks(7, same)) {
    REQUIRE_FALSE(got);
    CHECK(got.error() == Error{ErrorCode::usage, "no option", {}, Remedy::give_samples});
  }
  const auto several = [](Ranks& ranks) {
    return ranks.agree(ranks.rank() < 2 ? Expected<void>()
                                        : fail(ErrorCode::io, std::to_string(ranks.rank())));
  };
  for (const auto& got : on_ranks(7, several)) {
    REQUIRE_FALSE(got);
    CHECK(got.error().message == "2 (rank 2 of 7)");
  }
}

TEST_CASE("what must be the same is compared, and who differs is told") {
  const auto call = [](Ranks& ranks) -> Expected<void> {
    QUADRANT_CHECK(ranks.check_same("the model", "a"));
    return ranks.check_same("the sample", ranks.rank() == 3 ? "b" : "a");
  };
  for (const auto& got : on_ranks(4, call)) {
    REQUIRE_FALSE(got);
    CHECK(got.error().code == ErrorCode::usage);
    CHECK(got.error().message.find("the sample differs between rank") == 0);
    CHECK(got.error().message.find("rank 3 of 4") != std::string::npos);
  }
}

TEST_CASE("a rank that does not come ends the wait of others") {
  const auto call = [](Ranks& ranks) -> Expected<void> {
    ranks.set_patience(0.2);
    if (ranks.rank() == 2) return {};
    auto got = ranks.agree({});
    CHECK(ranks.is_broken());
    return got;
  };
  const auto got = on_ranks(3, call);
  CHECK_FALSE(got[0]);
  CHECK_FALSE(got[1]);
  CHECK(got[0].error().code == ErrorCode::io);
}

namespace {

/// The first of two ranks, which hears this from the other.
class Hearing final : public Ranks {
 public:
  explicit Hearing(std::string answer) : answer_(std::move(answer)) {}
  [[nodiscard]] std::size_t rank() const noexcept override { return 0; }
  [[nodiscard]] std::size_t size() const noexcept override { return 2; }
  void set_patience(double /*seconds*/) override {}

 private:
  Expected<void> send(std::size_t, std::string_view, bool) override { return {}; }
  Expected<std::string> receive(std::size_t, bool) override { return answer_; }
  std::string answer_;
};

/// The last of two ranks, whose messages are taken later than it waits.
class Late final : public Ranks {
 public:
  [[nodiscard]] std::size_t rank() const noexcept override { return 1; }
  [[nodiscard]] std::size_t size() const noexcept override { return 2; }
  void set_patience(double /*seconds*/) override {}
  [[nodiscard]] std::string_view sent() const { return sent_; }

 private:
  Expected<void> send(std::size_t, std::string_view bytes, bool) override {
    sent_ = bytes;
    return fail(ErrorCode::io, "rank 0 did not answer");
  }
  Expected<std::string> receive(std::size_t, bool) override { return std::string(); }
  std::string_view sent_;
};

}  // namespace

TEST_CASE("answers that are no message are errors") {
  const std::string cut("-\1\0\0", 4);
  for (const std::string& answer : {std::string(), std::string("?"), std::string("-"), cut}) {
    for (const bool has_failed : {false, true}) {
      Hearing ranks(answer);
      const auto got =
          ranks.gather(has_failed ? Expected<std::string>(fail(ErrorCode::usage, "own"))
                                  : Expected<std::string>("fine"));
      REQUIRE_FALSE(got);
      CHECK(got.error().message ==
            (has_failed ? "own (rank 0 of 2)" : "the answer of another rank is not a message"));
    }
  }
  Hearing ranks("+\5");  // a list whose only text is longer than what follows
  CHECK_FALSE(ranks.gather("fine"));
}

TEST_CASE("what could not be sent stays where it is") {
  const std::string message = "a message that is longer than a string has room for itself";
  Late ranks;
  CHECK_FALSE(ranks.gather(message));
  CHECK(ranks.is_broken());
  CHECK_FALSE(ranks.gather("another one, of the same kind and length, which is not sent any more"));
  CHECK(ranks.sent().ends_with(message));
}

TEST_CASE("of so many bytes, so many are sent") {
  test::Wires wires;
  test::ThreadRank alone(wires, 0, 1);
  REQUIRE(alone.gather("nobody hears it"));
  CHECK(wires.sent() == 0);
}
