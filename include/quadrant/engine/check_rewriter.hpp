// Whether an adaptor of an IR does what the engine asks of it: for its author's tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

/// A rule that is broken.
struct RewriterFault {
  /// `view`, `same`, `handles`, `kinds`, `attributes`, `operands`, `uses`, `names`, `types`,
  /// `contents`, `refusal`, `capabilities`: what does not hold, see check_rewriter.
  std::string_view rule;
  std::string message;  ///< which edit it was, and what came of it
};

struct RewriterCheck {
  std::vector<RewriterFault> faults;
  /// Edits that were refused, as an IR may: with reasons. Schemes that need one cannot be used.
  std::vector<std::string> refused;
};

/// Makes a rewriter of a new copy of one and the same program; what it refers to lives as long.
using MakeRewriter = FunctionRef<std::unique_ptr<GraphRewriter>()>;

/// Does to a program what schemes do, each kind of edit once for each float constant and a few
/// computed values, and looks through the view at what has changed: that, and nothing else.
///
/// view        `verify` finds nothing wrong, before and after a weight is quantized, nor
///             `Capabilities::check_view` after any edit
/// same        two copies have the same nodes, names and types: plans are made of names
/// handles     a node that was not erased is still there under its id; none appears unasked, but
///             what an IR needs for a value of another type, such as a buffer
/// kinds       an emitted node has the kind that was asked for, others keep theirs
/// attributes  an emitted node has its attributes
/// operands    `emit` and `set_operand` give a node these operands, others keep theirs
/// uses        and the producers' uses follow, both where one comes and where one goes
/// names       names are unique; one that is free is given as it is, also one that a rename has
///             freed; one that is taken gets a suffix, and its owner keeps it
/// types       `set_type` and `set_constant` change element type and quantization, not the shape
/// contents    `set_constant` changes the contents, and leaves the old ones as they were for
///             whoever holds them
/// refusal     an edit that is refused, with `impossible`, has changed nothing
/// capabilities  what the view's `capabilities` say that it can hold, or emit, of those kinds that
///             schemes ask about, is done when asked for
///
/// Not seen: where an operation stands that was emitted, which a view does not say. The IR's own
/// verifier does.
///
/// The program should have a float constant that is read, of rank 2 at best, and a computed float.
[[nodiscard]] RewriterCheck check_rewriter(MakeRewriter make);

}  // namespace quadrant::inline v0
