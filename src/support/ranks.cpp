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

// Of errors the one of the lowest rank counts.
std::string Ranks::merged(std::string mine, std::string theirs, Merge merge) const {
  if (is_bad(mine) && is_bad(theirs)) {
    Failure first = Failure::parse(mine);
    const Failure second = Failure::parse(theirs);
    if (first.error == second.error) first.ranks = saturating_add(first.ranks, second.ranks);
    return first.print();
  }
  if (is_bad(mine)) return mine;
  if (is_bad(theirs)) return theirs;
  mine.erase(0, 1);
  theirs.erase(0, 1);
  auto made = merge(std::move(mine), std::move(theirs));
  if (made) return good + *std::move(made);
  return Failure{std::move(made).error(), size(), name()}.print();  // of no rank alone
}

// Up the tree, and down again: `message_` is this rank's, and then what all get.
Expected<void> Ranks::exchange(bool has_failed, Merge merge) {
  std::size_t step = 1;
  for (; step < size(); step *= 2) {
    if (rank() % (2 * step) != 0) {
      QUADRANT_CHECK(send(rank() - step, message_, has_failed));
      QUADRANT_TRY(message_, receive(rank() - step, has_failed));
      break;
    }
    if (rank() + step >= size()) continue;
    QUADRANT_TRY(std::string theirs, receive(rank() + step, has_failed));
    message_ = merged(std::move(message_), std::move(theirs), merge);
  }
  for (step /= 2; step != 0; step /= 2) {
    if (rank() + step < size()) QUADRANT_CHECK(send(rank() + step, message_, has_failed));
  }
  return {};
}

Expected<std::string> Ranks::combine(Expected<std::string> own, Merge merge) {
  if (failure_) return fail(*failure_);
  const auto named = [&](Failure failure) {
    Error error = std::move(failure.error);
    if (failure.ranks < size()) error.message += fmt::format(" ({})", failure.name);
    failure_ = error;
    return fail(std::move(error));
  };
  const bool has_failed = !own;
  std::optional<Failure> mine;
  if (has_failed) mine = Failure{own.error(), 1, name()};
  message_ = mine ? mine->print() : good + *std::move(own);
  auto exchanged = exchange(has_failed, merge);
  if (!exchanged) {
    is_broken_ = true;
    return named(mine ? *std::move(mine) : Failure{std::move(exchanged).error(), 1, name()});
  }
  std::string result = std::exchange(message_, {});
  if (is_bad(result)) return named(Failure::parse(result));
  result.erase(0, 1);
  return result;
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
