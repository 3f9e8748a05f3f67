#include "numerics/plane_bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace quadrant::inline v0 {
namespace {

struct Corner {
  double scale = 0;
  double minimum = 0;
  double rate = 0;  ///< gain / scale
};

struct Triangle {
  std::array<Corner, 3> corners;
  double bound = 0;
};

// sum h (w + m)^2 - s (at + by_scale s + by_minimum m)
struct Form {
  double ww = 0;
  double w = 0;
  double h = 0;
  double at = 0;
  double by_scale = 0;
  double by_minimum = 0;

  [[nodiscard]] double value(double s, double m) const noexcept {
    return ww + m * (2 * w + h * m) - s * (at + by_scale * s + by_minimum * m);
  }
};

// The least value on a segment: at an end, or where the parabola along it is lowest.
double least_along(const Form& form, const Corner& from, const Corner& to) {
  const double ds = to.scale - from.scale;
  const double dm = to.minimum - from.minimum;
  const double first = form.value(from.scale, from.minimum);
  const double last = form.value(to.scale, to.minimum);
  const double curve = dm * dm * form.h - ds * (form.by_scale * ds + form.by_minimum * dm);
  const double slope = last - first - curve;
  double least = std::min(first, last);
  if (curve > 0 && slope < 0 && -slope < 2 * curve) {
    least = std::min(least, first - slope * slope / (4 * curve));
  }
  return least;
}

double bound_of(Form form, const std::array<Corner, 3>& corners) {
  const auto& [a, b, c] = corners;
  const double bs = b.scale - a.scale;
  const double bm = b.minimum - a.minimum;
  const double cs = c.scale - a.scale;
  const double cm = c.minimum - a.minimum;
  const double area = bs * cm - cs * bm;
  if (area == 0) return 0;
  form.by_scale = ((b.rate - a.rate) * cm - (c.rate - a.rate) * bm) / area;
  form.by_minimum = ((c.rate - a.rate) * bs - (b.rate - a.rate) * cs) / area;
  form.at = a.rate - form.by_scale * a.scale - form.by_minimum * a.minimum;
  double least =
      std::min({least_along(form, a, b), least_along(form, b, c), least_along(form, c, a)});
  // Inside, where it is a bowl.
  const double determinant = -4 * form.by_scale * form.h - form.by_minimum * form.by_minimum;
  if (form.by_scale < 0 && determinant > 0) {
    const double s = 2 * (form.at * form.h - form.by_minimum * form.w) / determinant;
    const double m = (form.by_minimum * s - 2 * form.w) / (2 * form.h);
    const double of_b = ((s - a.scale) * cm - (m - a.minimum) * cs) / area;
    const double of_c = ((m - a.minimum) * bs - (s - a.scale) * bm) / area;
    if (of_b > 0 && of_c > 0 && of_b + of_c < 1) least = std::min(least, form.value(s, m));
  }
  return least;
}

}  // namespace

double least_cost_of_plane(LevelSearch& search, const CodeValues& codes, double known,
                           double tolerance) {
  search.shift_by(0);
  const Form form{.ww = search.power(), .w = search.sum(), .h = search.weight()};
  constexpr double nothing = 1e-12;
  if (!(known > nothing * form.ww)) return 0;
  // More than `known` would be clipped from an end elsewhere. A scale that is larger than all that
  // values are apart, or than they are from 0, has one code or two in use, and is no better.
  const auto clipped = [&](float weight) {
    return weight > 0 ? std::sqrt(known / static_cast<double>(weight)) : 0.0;
  };
  const auto largest = static_cast<double>(search.largest());
  const auto smallest = static_cast<double>(search.smallest());
  const double above = clipped(search.weight_of_largest());
  const double below = clipped(search.weight_of_smallest());
  const double range = largest - smallest;
  const double codes_apart = codes.high() - codes.low();
  const double first = (range - above - below) / codes_apart;
  const double last = range + std::max(std::fabs(largest), std::fabs(smallest));
  if (above == 0 || below == 0 || !(first > 0)) return 0;
  const auto corner = [&](double scale, double minimum) {
    search.shift_by(minimum);
    return Corner{scale, minimum, search.gain(codes, scale) / scale};
  };
  std::vector<Triangle> open;
  const auto push = [&](const Corner& a, const Corner& b, const Corner& c) {
    const Triangle triangle{{a, b, c}, bound_of(form, {a, b, c})};
    if (triangle.bound >= known * (1 - tolerance)) return;
    open.push_back(triangle);
    std::ranges::push_heap(open, std::ranges::greater(), &Triangle::bound);
  };
  push(corner(first, first * codes.low() - smallest - below),
       corner(last, last * codes.low() - smallest - below),
       corner(last, last * codes.high() - largest + above));
  constexpr int most_looks = 8000;
  double bound = known * (1 - tolerance);
  for (int look = 0; !open.empty(); ++look) {
    if (look == most_looks) {
      bound = open.front().bound;
      break;
    }
    std::ranges::pop_heap(open, std::ranges::greater(), &Triangle::bound);
    const auto corners = open.back().corners;
    open.pop_back();
    // The longest edge, in codes.
    const auto length = [&](std::size_t i) {
      const Corner& from = corners[i];
      const Corner& to = corners[(i + 1) % 3];
      return std::fabs(from.minimum / from.scale - to.minimum / to.scale) +
             range * std::fabs(1 / from.scale - 1 / to.scale);
    };
    std::size_t edge = 0;
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      if (length(i) > length(edge)) edge = i;
    }
    const Corner& a = corners[edge];
    const Corner& b = corners[(edge + 1) % 3];
    const Corner& c = corners[(edge + 2) % 3];
    // In the middle as seen from the codes: of 1 / scale and minimum / scale.
    const double scale = 2 * a.scale * b.scale / (a.scale + b.scale);
    const double minimum = scale * (a.minimum / a.scale + b.minimum / b.scale) / 2;
    const Corner middle = corner(scale, minimum);
    known = std::min(known, form.value(scale, minimum) - scale * middle.rate);
    bound = std::min(bound, known * (1 - tolerance));
    push(a, middle, c);
    push(middle, b, c);
  }
  search.shift_by(0);
  return std::max(bound, 0.0);
}

}  // namespace quadrant::inline v0
