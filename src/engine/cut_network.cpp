#include "engine/cut_network.hpp"

#include <algorithm>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/range/iterator_range.hpp>
#include <utility>

namespace quadrant::inline v0 {
namespace {

using Network = boost::compressed_sparse_row_graph<boost::directedS>;

// An edge of the network, or the opposite of one, for which there is no cost.
struct Edge {
  std::uint64_t vertices = 0;  // from, to
  std::int64_t capacity = 0;

  Edge(std::uint32_t from, std::uint32_t to, std::int64_t most) noexcept
      : vertices((std::uint64_t{from} << 32U) + to), capacity(most) {}
  [[nodiscard]] std::uint32_t from() const noexcept {
    return static_cast<std::uint32_t>(vertices >> 32U);
  }
  [[nodiscard]] std::uint32_t to() const noexcept { return static_cast<std::uint32_t>(vertices); }
};

// Boost's algorithm wants each edge once, and its opposite.
void merge_parallel(std::vector<Edge>& edges, std::int64_t unbounded) {
  std::ranges::sort(edges, {}, &Edge::vertices);
  std::size_t count = 0;
  for (const Edge& edge : edges) {
    if (count > 0 && edges[count - 1].vertices == edge.vertices) {
      std::int64_t& capacity = edges[count - 1].capacity;
      capacity = std::min(unbounded, capacity + edge.capacity);
    } else {
      edges[count++] = edge;
    }
  }
  edges.erase(edges.begin() + static_cast<std::ptrdiff_t>(count), edges.end());
}

}  // namespace

void CutNetwork::add_arc(Literal a, Literal b, std::int64_t cost) {
  const bool never = a == no || b == yes || a == b || cost == 0;
  if (never) return;
  if (a == yes && b == no) {
    if (cost == infinite) {
      is_impossible_ = true;
    } else {
      base_ -= cost;
    }
    return;
  }
  if (cost != infinite) is_too_large_ |= __builtin_add_overflow(total_, cost, &total_);
  arcs_.push_back({a, b, cost});
}

void CutNetwork::add_cost(Literal a, Literal b, std::int64_t cost) { add_arc(a, b, cost); }

void CutNetwork::add_gain(Literal a, std::int64_t gain) {
  if (gain > 0) {
    base_ += gain;
    add_cost(yes, a, gain);
  } else {
    add_cost(a, no, -gain);
  }
}

void CutNetwork::add_gain_of_not(Literal a, std::int64_t gain) {
  base_ += gain;
  add_gain(a, -gain);
}

std::optional<CutNetwork::Answers> CutNetwork::solve() const {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max() / 4;
  if (is_impossible_ || is_too_large_ || total_ >= largest) return std::nullopt;
  const std::int64_t unbounded = total_ + 1;

  // The source is yes, the sink is no.
  const std::uint32_t source = questions_;
  const std::uint32_t sink = source + 1;
  const auto vertex = [&](Literal literal) {
    if (literal.is_constant()) return literal.constant ? source : sink;
    return literal.question;
  };
  std::vector<Edge> edges;
  edges.reserve(2 * arcs_.size());
  for (const Arc& arc : arcs_) {
    const std::uint32_t from = vertex(arc.from);
    const std::uint32_t to = vertex(arc.to);
    edges.emplace_back(from, to, arc.cost == infinite ? unbounded : arc.cost);
    edges.emplace_back(to, from, 0);
  }
  merge_parallel(edges, unbounded);
  std::vector<std::pair<std::size_t, std::size_t>> ends;
  ends.reserve(edges.size());
  for (const Edge& edge : edges) ends.emplace_back(edge.from(), edge.to());
  const Network network(boost::edges_are_sorted, ends.begin(), ends.end(), std::size_t{sink} + 1,
                        edges.size());

  // The edges of the network are numbered in their order.
  std::vector<std::int64_t> capacities(edges.size());
  std::vector<std::int64_t> residuals(edges.size());
  std::vector<boost::graph_traits<Network>::edge_descriptor> all(edges.size());
  for (const auto& edge : boost::make_iterator_range(boost::edges(network))) all[edge.idx] = edge;
  std::vector<boost::graph_traits<Network>::edge_descriptor> opposites(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    capacities[i] = edges[i].capacity;
    const Edge opposite(edges[i].to(), edges[i].from(), 0);
    const auto found = std::ranges::lower_bound(edges, opposite.vertices, {}, &Edge::vertices);
    opposites[i] = all[static_cast<std::size_t>(found - edges.begin())];
  }
  std::vector<boost::default_color_type> colours(std::size_t{sink} + 1);
  const auto edge_index = boost::get(boost::edge_index, network);
  const auto vertex_index = boost::get(boost::vertex_index, network);
  const std::int64_t flow = boost::boykov_kolmogorov_max_flow(
      network, boost::make_iterator_property_map(capacities.begin(), edge_index),
      boost::make_iterator_property_map(residuals.begin(), edge_index),
      boost::make_iterator_property_map(opposites.begin(), edge_index),
      boost::make_iterator_property_map(colours.begin(), vertex_index), vertex_index,
      std::size_t{source}, std::size_t{sink});
  if (flow >= unbounded) return std::nullopt;

  Answers answers{std::vector<std::uint8_t>(questions_, 0), base_ - flow};
  for (std::size_t question = 0; question < questions_; ++question) {
    answers.is_true[question] = colours[question] == boost::black_color ? 1 : 0;
  }
  return answers;
}

}  // namespace quadrant::inline v0
