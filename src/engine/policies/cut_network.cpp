#include "engine/policies/cut_network.hpp"

#include <algorithm>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <numeric>
#include <utility>

namespace quadrant::inline v0 {
namespace {

using Network =
    boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                       boost::no_property, std::uint32_t, std::uint32_t>;
using Edge = boost::graph_traits<Network>::edge_descriptor;

struct Way {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::int64_t capacity = 0;
};

// Each time that a vertex loses its way to the source or the sink, Boost's algorithm looks at all
// its neighbours for another one. A hub loses it about as often as it has neighbours, so its `Side`
// goes by vertices in between, each of few ways: a tree. They are unbounded on the hub's own side,
// so that the smallest cut sets them as it sets the hub, and costs the same. The terminals, which
// never lose theirs, are the vertices from `hubs` on. Returns how many vertices there are then.
template <std::uint32_t Way::* Side>
std::uint32_t spread_hubs(std::vector<Way>& ways, std::uint32_t hubs, std::uint32_t vertices,
                          std::int64_t unbounded) {
  constexpr std::uint32_t most_ways = 32;
  struct Fan {
    std::uint32_t ways = 0;
    std::uint32_t moved = 0;
    std::uint32_t vertex = 0;  // where the next ones go
  };
  // What is left at a hub after a round are the ways that the round added.
  for (std::size_t begin = 0; begin < ways.size();) {
    const std::size_t end = ways.size();
    std::vector<Fan> fans(hubs);
    for (std::size_t i = begin; i < end; ++i) {
      if (const std::uint32_t hub = ways[i].*Side; hub < hubs) ++fans[hub].ways;
    }
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t hub = ways[i].*Side;
      if (hub >= hubs || fans[hub].ways <= most_ways) continue;
      Fan& fan = fans[hub];
      if (fan.moved++ % most_ways == 0) {
        fan.vertex = vertices++;
        Way between{fan.vertex, fan.vertex, unbounded};
        between.*Side = hub;
        ways.push_back(between);
      }
      ways[i].*Side = fan.vertex;
    }
    begin = end;
  }
  return vertices;
}

// All that goes between two vertices.
struct Link {
  std::uint64_t vertices = 0;  // the lower one first
  std::int64_t forth = 0;      // the capacity from the lower one to the other
  std::int64_t back = 0;

  explicit Link(const Way& way) noexcept
      : vertices((std::uint64_t{std::min(way.from, way.to)} << 32U) + std::max(way.from, way.to)),
        forth(way.from < way.to ? way.capacity : 0),
        back(way.from < way.to ? 0 : way.capacity) {}
  [[nodiscard]] std::uint32_t low() const noexcept {
    return static_cast<std::uint32_t>(vertices >> 32U);
  }
  [[nodiscard]] std::uint32_t high() const noexcept { return static_cast<std::uint32_t>(vertices); }
};

// Boost's algorithm wants each edge once.
void merge_parallel(std::vector<Link>& links, std::int64_t unbounded) {
  std::ranges::sort(links, {}, &Link::vertices);
  std::size_t count = 0;
  for (const Link& link : links) {
    if (count > 0 && links[count - 1].vertices == link.vertices) {
      Link& same = links[count - 1];
      same.forth = std::min(unbounded, same.forth + link.forth);
      same.back = std::min(unbounded, same.back + link.back);
    } else {
      links[count++] = link;
    }
  }
  links.erase(links.begin() + static_cast<std::ptrdiff_t>(count), links.end());
}

// The edges of a network by their numbers, those that leave a vertex in a row; each has an
// opposite.
struct Edges {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  std::vector<std::int64_t> capacities;
  std::vector<Edge> opposites;

  Edges(const std::vector<Link>& links, std::size_t vertices)
      : ends(2 * links.size()), capacities(ends.size()), opposites(ends.size()) {
    std::vector<std::uint32_t> next(vertices + 1, 0);  // by vertex, of those that leave it
    for (const Link& link : links) {
      ++next[link.low() + 1];
      ++next[link.high() + 1];
    }
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (const Link& link : links) {
      const std::uint32_t forth = next[link.low()]++;
      const std::uint32_t back = next[link.high()]++;
      ends[forth] = {link.low(), link.high()};
      ends[back] = {link.high(), link.low()};
      capacities[forth] = link.forth;
      capacities[back] = link.back;
      opposites[forth] = Edge(link.high(), back);
      opposites[back] = Edge(link.low(), forth);
    }
  }
};

}  // namespace

void CutNetwork::add_arc(Literal a, Literal b, std::int64_t cost) {
  const bool never = a == no || b == yes || a == b || cost == 0;
  if (never) return;
  if (a == yes && b == no) {
    if (cost == infinite) {
      is_impossible_ = true;
    } else {
      add_base(-cost);
    }
    return;
  }
  if (cost != infinite) is_too_large_ |= __builtin_add_overflow(total_, cost, &total_);
  arcs_.push_back({a, b, cost});
}

void CutNetwork::add_cost(Literal a, Literal b, std::int64_t cost) {
  if (!is_beyond(cost)) add_arc(a, b, cost);
}

void CutNetwork::add_gain(Literal a, std::int64_t gain) {
  if (is_beyond(gain)) return;
  if (gain > 0) {
    add_base(gain);
    add_cost(yes, a, gain);
  } else {
    add_cost(a, no, -gain);
  }
}

void CutNetwork::add_gain_of_not(Literal a, std::int64_t gain) {
  if (is_beyond(gain)) return;
  add_base(gain);
  add_gain(a, -gain);
}

bool CutNetwork::is_beyond(std::int64_t amount) {
  const bool is_beyond = amount >= largest || amount <= -largest;
  is_too_large_ |= is_beyond;
  return is_beyond;
}

void CutNetwork::add_base(std::int64_t gain) {
  is_too_large_ |= __builtin_add_overflow(base_, gain, &base_);
}

std::optional<CutNetwork::Answers> CutNetwork::solve() const {
  constexpr std::size_t most_arcs = std::numeric_limits<std::uint32_t>::max() / 4;
  if (is_impossible_ || is_too_large_ || total_ >= largest) return std::nullopt;
  if (questions_ >= most_arcs || arcs_.size() >= most_arcs) return std::nullopt;
  const std::int64_t unbounded = total_ + 1;

  // The source is yes, the sink is no.
  const std::uint32_t source = questions_;
  const std::uint32_t sink = source + 1;
  const auto vertex = [&](Literal literal) {
    if (literal.is_constant()) return literal.constant ? source : sink;
    return literal.question;
  };
  std::vector<Way> ways;
  ways.reserve(arcs_.size());
  for (const Arc& arc : arcs_) {
    const std::int64_t capacity = arc.cost == infinite ? unbounded : arc.cost;
    ways.push_back({vertex(arc.from), vertex(arc.to), capacity});
  }
  std::uint32_t vertices = sink + 1;
  vertices = spread_hubs<&Way::from>(ways, questions_, vertices, unbounded);
  vertices = spread_hubs<&Way::to>(ways, questions_, vertices, unbounded);
  std::vector<Link> links(ways.begin(), ways.end());
  merge_parallel(links, unbounded);
  const Edges edges(links, vertices);
  const Network network(boost::edges_are_sorted, edges.ends.begin(), edges.ends.end(), vertices,
                        static_cast<std::uint32_t>(edges.ends.size()));

  std::vector<std::int64_t> residuals(edges.ends.size());
  std::vector<boost::default_color_type> colours(vertices);
  const auto edge_index = boost::get(boost::edge_index, network);
  const auto vertex_index = boost::get(boost::vertex_index, network);
  const std::int64_t flow = boost::boykov_kolmogorov_max_flow(
      network, boost::make_iterator_property_map(edges.capacities.begin(), edge_index),
      boost::make_iterator_property_map(residuals.begin(), edge_index),
      boost::make_iterator_property_map(edges.opposites.begin(), edge_index),
      boost::make_iterator_property_map(colours.begin(), vertex_index), vertex_index, source, sink);
  if (flow >= unbounded) return std::nullopt;

  Answers answers{std::vector<std::uint8_t>(questions_, 0), base_ - flow};
  for (std::size_t question = 0; question < questions_; ++question) {
    answers.is_true[question] = colours[question] == boost::black_color ? 1 : 0;
  }
  return answers;
}

}  // namespace quadrant::inline v0
