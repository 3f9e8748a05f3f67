#include "engine/cut_network.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <tuple>

namespace quadrant::inline v0 {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Network = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<
        boost::edge_capacity_t, std::int64_t,
        boost::property<boost::edge_residual_capacity_t, std::int64_t,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

// Between two vertices, both ways.
struct Edge {
  std::size_t low = 0;
  std::size_t high = 0;
  std::int64_t up = 0;    // from low to high
  std::int64_t down = 0;  // from high to low
};

void merge_parallel(std::vector<Edge>& edges, std::int64_t unbounded) {
  std::ranges::sort(edges, {}, [](const Edge& edge) { return std::tie(edge.low, edge.high); });
  std::size_t count = 0;
  for (const Edge& edge : edges) {
    if (count > 0 && edges[count - 1].low == edge.low && edges[count - 1].high == edge.high) {
      Edge& same = edges[count - 1];
      same.up = std::min(unbounded, same.up + edge.up);
      same.down = std::min(unbounded, same.down + edge.down);
    } else {
      edges[count++] = edge;
    }
  }
  edges.resize(count);
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

  // The source is yes, the sink is no. Boost's algorithm wants each edge and its opposite once.
  const std::size_t source = questions_;
  const std::size_t sink = source + 1;
  const auto vertex = [&](Literal literal) -> std::size_t {
    if (literal.is_constant()) return literal.constant ? source : sink;
    return literal.question;
  };
  std::vector<Edge> edges;
  edges.reserve(arcs_.size());
  for (const Arc& arc : arcs_) {
    const std::int64_t cost = arc.cost == infinite ? unbounded : arc.cost;
    const std::size_t from = vertex(arc.from);
    const std::size_t to = vertex(arc.to);
    edges.push_back(from < to ? Edge{from, to, cost, 0} : Edge{to, from, 0, cost});
  }
  merge_parallel(edges, unbounded);
  Network network(sink + 1);
  const auto capacity = boost::get(boost::edge_capacity, network);
  const auto reverse = boost::get(boost::edge_reverse, network);
  for (const Edge& edge : edges) {
    const auto forth = boost::add_edge(edge.low, edge.high, network).first;
    const auto back = boost::add_edge(edge.high, edge.low, network).first;
    capacity[forth] = edge.up;
    capacity[back] = edge.down;
    reverse[forth] = back;
    reverse[back] = forth;
  }
  std::vector<boost::default_color_type> colours(sink + 1);
  const auto index = boost::get(boost::vertex_index, network);
  const std::int64_t flow = boost::boykov_kolmogorov_max_flow(
      network, capacity, boost::get(boost::edge_residual_capacity, network), reverse,
      boost::make_iterator_property_map(colours.begin(), index), index, source, sink);
  if (flow >= unbounded) return std::nullopt;

  Answers answers{std::vector<std::uint8_t>(questions_, 0), base_ - flow};
  for (std::size_t question = 0; question < questions_; ++question) {
    answers.is_true[question] = colours[question] == boost::black_color ? 1 : 0;
  }
  return answers;
}

}  // namespace quadrant::inline v0
