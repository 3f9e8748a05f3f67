#include "quadrant/support/ranks.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "quadrant/support/executor.hpp"
#include "support/byte_stream.hpp"
#include "support/saturating.hpp"
#include "support/shared_items.hpp"

namespace quadrant::inline v0 {
namespace {

// What ranks tell each other begins with one of these.
constexpr char good = '+';
constexpr char bad = '-';

/// An error, and whose it is.
struct Failure {
  Error error;
  std::uint64_t ranks = 1;  ///< that have it, as far as is known
  std::string name;         ///< of the first of them

  [[nodiscard]] std::string print() const {
    ByteWriter out;
    out.raw({&bad, 1});
    out.number(ranks);
    out.text(name);
    out.number(static_cast<std::uint8_t>(error.code));
    out.number(static_cast<std::uint8_t>(error.remedy));
    out.text(error.message);
    out.text(error.place.file);
    out.text(error.place.node);
    out.text(error.place.tensor);
    out.number(static_cast<std::uint8_t>(error.place.offset.has_value()));
    out.number(error.place.offset.value_or(0));
    return out.take();
  }

  // Of whatever bytes: those that are no failure are one.
  [[nodiscard]] static Failure parse(std::string_view bytes) {
    ByteReader in(bytes.empty() ? bytes : bytes.substr(1));
    Failure read;
    read.ranks = in.number<std::uint64_t>();
    read.name = in.text();
    const auto code = in.number<std::uint8_t>();
    read.error.code = static_cast<ErrorCode>(code);
    read.error.remedy = static_cast<Remedy>(in.number<std::uint8_t>());
    read.error.message = in.text();
    read.error.place.file = in.text();
    read.error.place.node = in.text();
    read.error.place.tensor = in.text();
    const bool has_offset = in.number<std::uint8_t>() != 0;
    const auto offset = in.number<std::uint64_t>();
    if (has_offset) read.error.place.offset = offset;
    const bool is_whole = !in.failed() && in.is_at_end() && bytes.front() == bad &&
                          code <= static_cast<std::uint8_t>(ErrorCode::cancelled);
    if (is_whole) return read;
    return {.error = {ErrorCode::io, "the answer of another rank is not a message", {}},
            .ranks = std::numeric_limits<std::uint64_t>::max()};
  }
};

bool is_bad(std::string_view bytes) { return bytes.empty() || bytes.front() != good; }

}  // namespace

std::string Ranks::name() const {
  const std::string where = host();
  return fmt::format("rank {} of {}{}{}", rank(), size(), where.empty() ? "" : " on ", where);
}

// Up the tree, and down again: `message_` is this rank's, and then what all get.
Expected<void> Ranks::exchange(bool has_failed, FunctionRef<void(std::string theirs)> add,
                               Print print) {
  std::size_t step = 1;
  for (; step < size() && rank() % (2 * step) == 0; step *= 2) {
    if (rank() + step >= size()) continue;
    QUADRANT_TRY(std::string theirs, receive(rank() + step, has_failed));
    add(std::move(theirs));
  }
  message_ = print();
  if (!is_first()) {
    QUADRANT_CHECK(send(rank() - step, message_, has_failed));
    message_ = std::string();
    QUADRANT_TRY(message_, receive(rank() - step, has_failed));
  }
  for (step /= 2; step != 0; step /= 2) {
    if (rank() + step < size()) QUADRANT_CHECK(send(rank() + step, message_, has_failed));
  }
  return {};
}

Expected<std::string> Ranks::combine(Expected<void> own, Add add, Print print) {
  if (failure_) return fail(*failure_);
  const auto named = [&](Failure failure) {
    Error error = std::move(failure.error);
    if (failure.ranks < size()) error.message += fmt::format(" ({})", failure.name);
    failure_ = error;
    return fail(std::move(error));
  };
  // Of this rank and those below it in the tree; of errors the one of the lowest rank counts.
  std::optional<Failure> failure;
  if (!own) failure = Failure{own.error(), 1, name()};
  const auto add_theirs = [&](std::string theirs) {
    if (is_bad(theirs)) {
      Failure other = Failure::parse(theirs);
      if (!failure) {
        failure = std::move(other);
      } else if (failure->error == other.error) {
        failure->ranks = saturating_add(failure->ranks, other.ranks);
      }
    } else if (!failure) {
      theirs.erase(0, 1);
      auto added = add(std::move(theirs));
      if (!added) failure = Failure{std::move(added).error(), size(), name()};  // of no rank alone
    }
  };
  const auto print_all = [&] { return failure ? failure->print() : good + print(); };
  auto exchanged = exchange(!own, add_theirs, print_all);
  if (!exchanged) {
    is_broken_ = true;
    const Error& error = own ? exchanged.error() : own.error();
    return named(Failure{error, 1, name()});
  }
  std::string result = std::exchange(message_, {});
  if (is_bad(result)) return named(Failure::parse(result));
  result.erase(0, 1);
  return result;
}

Expected<std::string> Ranks::combine(Expected<std::string> own, Merge merge) {
  return combine(
      own.map([](const std::string&) {}),
      [&](std::string theirs) -> Expected<void> {
        QUADRANT_TRY(*own, merge(*std::move(own), std::move(theirs)));
        return {};
      },
      [&] { return *std::move(own); });
}

Expected<std::string> Ranks::of_first(Expected<std::string> own) {
  return combine(
      std::move(own),
      [](std::string first, const std::string&) -> Expected<std::string> { return first; });
}

Expected<std::vector<std::string>> Ranks::gather(Expected<std::string> own) {
  auto listed = std::move(own).map([](const std::string& bytes) {
    ByteWriter out;
    out.text(bytes);
    return out.take();
  });
  const auto append = [](std::string a, const std::string& b) -> Expected<std::string> {
    return std::move(a) + b;
  };
  QUADRANT_TRY(const std::string all, combine(std::move(listed), append));
  std::vector<std::string> of_ranks;
  QUADRANT_CHECK(read_items(all, [&](ByteReader& in) -> Expected<void> {
    of_ranks.push_back(in.text());
    return {};
  }));
  return of_ranks;
}

Expected<void> Ranks::agree(Expected<void> own) {
  auto nothing = std::move(own).map([] { return std::string(); });
  QUADRANT_CHECK(
      combine(std::move(nothing),
              [](const std::string&, const std::string&) -> Expected<std::string> { return ""; }));
  return {};
}

Expected<void> Ranks::check_same(std::string_view what, std::string_view own) {
  // The name first, so that it can be told; then what must be the same.
  ByteWriter out;
  out.text(name());
  out.text(own);
  const auto compare = [&](std::string mine, const std::string& theirs) -> Expected<std::string> {
    ByteReader first(mine);
    ByteReader second(theirs);
    const std::string first_name = first.text();
    const std::string second_name = second.text();
    if (first.text() == second.text()) return mine;
    return fail(ErrorCode::usage, fmt::format("{} differs between {} and {}: all ranks must have "
                                              "the same",
                                              what, first_name, second_name));
  };
  QUADRANT_CHECK(combine(out.take(), compare));
  return {};
}

}  // namespace quadrant::inline v0
