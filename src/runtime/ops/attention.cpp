// Attention: softmax(Q K' scale + mask) V for each head, with the keys and values of the past
// before the new ones; several heads of Q may share one of K and V.
#include <cmath>
#include <limits>

#include "ir/ops/functions.hpp"
#include "runtime/broadcast.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/heads.hpp"
#include "runtime/ops/softmax.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// What result 3 shows of the scores on their way.
enum class Shown : std::uint8_t { product, capped, masked, softmax };

struct AttentionLayer {
  Heads q;
  Heads k;  // of what was there before, and is new
  Heads v;
  Tensor keys;                             // [batch, heads, total, size]
  Tensor values;                           // [batch, heads, total, size]
  Tensor mask;                             // may be absent: boolean, or added to the scores
  std::vector<std::int64_t> mask_strides;  // along batch, heads, sequence, total
  std::int64_t past = 0;
  std::vector<std::int64_t> key_counts;  // of each sample; empty: all
  // How far behind and in front of its own place a query looks; negative: without bound.
  std::int64_t behind = -1;
  std::int64_t ahead = -1;
  double scale = 1;
  double softcap = 0;  // 0: none
  Shown shown = Shown::product;

  [[nodiscard]] Shape score_shape() const { return {q.batch, q.heads, q.sequence, k.sequence}; }
};

// The past, if there is one, and behind it what is new, head by head.
Expected<Tensor> present(const Tensor& past, const Tensor& recent, const Heads& heads) {
  const std::int64_t before = past ? past.extent(2) : 0;
  Heads whole = heads;
  whole.merged = false;
  whole.sequence += before;
  QUADRANT_TRY(Tensor result, Tensor::make(recent.element(), whole.shape()));
  const auto copied = with_real(recent.element(), [&]<class T>() -> Expected<Tensors> {
    for (std::int64_t b = 0; b < heads.batch; ++b) {
      for (std::int64_t h = 0; h < heads.heads; ++h) {
        T* to = result.fill<T>().data() + whole.offset(b, h);
        if (past) {
          const T* from = past.as<T>().data() + (b * heads.heads + h) * before * heads.size;
          to = std::copy_n(from, before * heads.size, to);
        }
        const T* from = recent.as<T>().data() + heads.offset(b, h);
        for (std::int64_t s = 0; s < heads.sequence; ++s) {
          to = std::copy_n(from + s * heads.stride(), heads.size, to);
        }
      }
    }
    return Tensors{};
  });
  if (!copied) return fail(copied.error());
  return result;
}

Expected<void> check_past(const Tensor& past, const Tensor& recent, const Heads& heads) {
  if (!past) return {};
  const bool fits = past.rank() == 4 && past.element() == recent.element() &&
                    past.extent(0) == heads.batch && past.extent(1) == heads.heads &&
                    past.extent(3) == heads.size;
  if (fits) return {};
  return KernelCall::refuse(fmt::format("a past of shape [{}] for {} heads of {} elements",
                                        to_string(past.shape()), heads.heads, heads.size));
}

Expected<void> read_heads(const KernelCall& call, AttentionLayer& layer) {
  const auto q_heads = call.attribute_or<std::int64_t>("q_num_heads", 0);
  const auto kv_heads = call.attribute_or<std::int64_t>("kv_num_heads", 0);
  QUADRANT_TRY(layer.q, heads_of(call.operand(0), q_heads));
  QUADRANT_TRY(layer.k, heads_of(call.operand(1), kv_heads));
  QUADRANT_TRY(layer.v, heads_of(call.operand(2), kv_heads));
  const Heads& q = layer.q;
  const Heads& k = layer.k;
  const Heads& v = layer.v;
  const bool same_type = call.operand(0).element() == call.operand(1).element() &&
                         call.operand(0).element() == call.operand(2).element();
  const bool fits = q.batch == k.batch && q.batch == v.batch && q.size == k.size && q.size > 0 &&
                    k.sequence == v.sequence && k.heads == v.heads && k.heads > 0 &&
                    q.heads % k.heads == 0;
  if (same_type && fits) return {};
  return KernelCall::refuse(
      fmt::format("Q {} [{}], K {} [{}] and V {} [{}] do not go together",
                  to_string(call.operand(0).element()), to_string(call.operand(0).shape()),
                  to_string(call.operand(1).element()), to_string(call.operand(1).shape()),
                  to_string(call.operand(2).element()), to_string(call.operand(2).shape())));
}

Expected<void> read_past(const KernelCall& call, AttentionLayer& layer) {
  const Tensor& past_key = call.operand(4);
  const Tensor& past_value = call.operand(5);
  QUADRANT_CHECK(check_past(past_key, call.operand(1), layer.k));
  QUADRANT_CHECK(check_past(past_value, call.operand(2), layer.v));
  layer.past = past_key ? past_key.extent(2) : 0;
  if ((past_value ? past_value.extent(2) : 0) != layer.past) {
    return KernelCall::refuse("the keys and the values of the past are not as many");
  }
  QUADRANT_TRY(layer.keys, present(past_key, call.operand(1), layer.k));
  QUADRANT_TRY(layer.values, present(past_value, call.operand(2), layer.v));
  for (Heads* heads : {&layer.k, &layer.v}) {
    heads->merged = false;
    heads->sequence += layer.past;
  }
  return {};
}

// The mask broadcasts to the scores, but for its last axis, which may be shorter: nothing looks at
// what it does not reach.
Expected<void> read_mask(const KernelCall& call, AttentionLayer& layer) {
  layer.mask = call.operand(3);
  const Tensor& mask = layer.mask;
  if (mask) {
    bool fits =
        mask.rank() >= 1 && mask.rank() <= 4 &&
        (mask.element() == ElementType::boolean || mask.element() == call.operand(0).element()) &&
        mask.extent(mask.rank() - 1) <= layer.k.sequence;
    const Shape scores = layer.score_shape();
    std::vector<std::int64_t> extents = extents_between(scores, 0, 4);
    for (std::int64_t axis = 2; fits && axis <= mask.rank(); ++axis) {
      const std::int64_t extent = mask.extent(mask.rank() - axis);
      fits = extent == 1 || surely_equal(scores[4 - axis], extent);
    }
    if (!fits) {
      return KernelCall::refuse(fmt::format("a mask {} [{}] for scores of shape [{}]",
                                            to_string(mask.element()), to_string(mask.shape()),
                                            to_string(scores)));
    }
    extents.back() = mask.extent(mask.rank() - 1);
    layer.mask_strides = broadcast_strides(mask.shape(), Shape(extents));
  }
  if (!call.has(6)) return {};
  if (call.has(4)) return KernelCall::refuse("nonpad_kv_seqlen beside keys of the past");
  QUADRANT_TRY(layer.key_counts, integers_of(call.operand(6)));
  if (layer.key_counts.size() != static_cast<std::size_t>(layer.q.batch)) {
    return KernelCall::refuse(fmt::format("nonpad_kv_seqlen holds {} lengths, where {} are wanted",
                                          layer.key_counts.size(), layer.q.batch));
  }
  for (const std::int64_t count : layer.key_counts) {
    if (count < 0 || count > layer.k.sequence) {
      return KernelCall::refuse(
          fmt::format("nonpad_kv_seqlen counts {} of {} keys", count, layer.k.sequence));
    }
  }
  return {};
}

// Windows came with opset 25. Causal attention looks at nothing that is ahead.
Expected<void> read_window(const KernelCall& call, AttentionLayer& layer) {
  const auto behind = call.attribute_or<std::int64_t>("left_window_size", -1);
  const auto ahead = call.attribute_or<std::int64_t>("right_window_size", -1);
  if (behind < -1 || ahead < -1) {
    return KernelCall::refuse(fmt::format("a window of {} and {} keys", behind, ahead));
  }
  const std::int64_t all = layer.q.sequence + layer.k.sequence;  // places do not overflow
  layer.behind = std::min(behind, all);
  layer.ahead = std::min(ahead, all);
  if (call.attribute_or<std::int64_t>("is_causal", 0) != 0) layer.ahead = 0;
  return {};
}

Expected<AttentionLayer> attention_layer(const KernelCall& call) {
  AttentionLayer layer;
  QUADRANT_CHECK(read_heads(call, layer));
  QUADRANT_CHECK(read_past(call, layer));
  QUADRANT_CHECK(read_mask(call, layer));
  QUADRANT_CHECK(read_window(call, layer));
  layer.scale = call.attribute_or("scale", 1 / std::sqrt(static_cast<double>(layer.q.size)));
  layer.softcap = call.attribute_or("softcap", 0.0);
  const auto shown = call.attribute_or<std::int64_t>("qk_matmul_output_mode", 0);
  if (shown < 0 || shown > 3) {
    return KernelCall::refuse(fmt::format("qk_matmul_output_mode is {}", shown));
  }
  layer.shown = static_cast<Shown>(shown);
  return layer;
}

// [begin, end)
struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The keys that query `i` of sample `b` may look at, as far as that is told by where they are. Its
// own place is behind the keys of the past, or, where the keys are a cache, at the end of those
// that are there.
KeyRange keys_in_reach(const AttentionLayer& layer, std::int64_t b, std::int64_t i) {
  KeyRange keys{0, layer.k.sequence};
  std::int64_t place = layer.past + i;
  if (!layer.key_counts.empty()) {
    keys.end = layer.key_counts[static_cast<std::size_t>(b)];
    place = keys.end - layer.q.sequence + i;
  }
  if (layer.behind >= 0) keys.begin = std::max(keys.begin, place - layer.behind);
  if (layer.ahead >= 0) keys.end = std::min(keys.end, place + layer.ahead + 1);
  if (layer.mask) keys.end = std::min(keys.end, layer.mask.extent(layer.mask.rank() - 1));
  if (keys.begin >= keys.end) return {};
  return keys;
}

// Masks the scores of one element of the sequence. False: it may look at no key.
template <class T>
bool mask_row(const AttentionLayer& layer, std::int64_t b, std::int64_t h, std::int64_t i,
              std::span<T> scores) {
  constexpr T unseen = -std::numeric_limits<T>::infinity();
  const KeyRange keys = keys_in_reach(layer, b, i);
  std::fill(scores.begin(), scores.begin() + keys.begin, unseen);
  std::fill(scores.begin() + keys.end, scores.end(), unseen);
  if (!layer.mask) return keys.begin < keys.end;
  const auto& strides = layer.mask_strides;
  const std::int64_t offset = b * strides[0] + h * strides[1] + i * strides[2];
  bool sees = false;
  const auto row = scores.subspan(static_cast<std::size_t>(keys.begin),
                                  static_cast<std::size_t>(keys.end - keys.begin));
  if (layer.mask.element() == ElementType::boolean) {
    const bool* mask = layer.mask.as<bool>().data() + offset + keys.begin;
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (!mask[j]) row[j] = unseen;
      sees = sees || mask[j];
    }
  } else {
    const T* mask = layer.mask.as<T>().data() + offset + keys.begin;
    for (std::size_t j = 0; j < row.size(); ++j) {
      row[j] += mask[j];
      sees = sees || mask[j] != unseen;
    }
  }
  return sees;
}

// The way of the scores of one element from the product to the softmax, shown where `shown` says.
template <class T>
void weigh(const AttentionLayer& layer, std::int64_t b, std::int64_t h, std::int64_t i,
           std::span<T> scores, std::span<T> shown) {
  const auto show = [&](Shown stage) {
    if (layer.shown == stage && !shown.empty()) std::ranges::copy(scores, shown.begin());
  };
  show(Shown::product);
  if (layer.softcap > 0) {
    const auto cap = static_cast<T>(layer.softcap);
    for (T& score : scores) score = cap * std::tanh(score / cap);
  }
  show(Shown::capped);
  const bool sees = mask_row(layer, b, h, i, scores);
  show(Shown::masked);
  if (sees) {
    to_softmax(scores);
  } else {
    std::ranges::fill(scores, T{0});
  }
  show(Shown::softmax);
}

// Results: Y, and the scores where they are asked for, else an empty tensor.
template <class T>
Expected<Tensors> attend(const AttentionLayer& layer, const Tensor& q, bool shows) {
  Heads out = layer.q;
  out.size = layer.v.size;
  const std::int64_t rows = layer.q.sequence;
  const std::int64_t columns = layer.k.sequence;
  QUADRANT_TRY(Tensor y, Tensor::make(q.element(), out.shape()));
  std::ranges::fill(y.fill<T>(), T{0});
  QUADRANT_TRY(Tensor shown, Tensor::make(q.element(), shows ? layer.score_shape() : Shape{0}));
  QUADRANT_TRY(Tensor buffer, Tensor::make(q.element(), {rows, columns}));
  const auto scores = MatrixView<T>::dense(buffer.fill<T>().data(), rows, columns);
  std::span<T> next_shown = shown.fill<T>();
  for (std::int64_t b = 0; b < layer.q.batch; ++b) {
    for (std::int64_t h = 0; h < layer.q.heads; ++h) {
      const std::int64_t shared = h / (layer.q.heads / layer.k.heads);
      const MatrixView<const T> query = layer.q.head(q.as<T>().data(), b, h);
      MatrixView<const T> key = layer.k.head(layer.keys.as<T>().data(), b, shared);
      key = {key.data, key.columns, key.rows, key.stride, true};
      std::ranges::fill(buffer.fill<T>(), T{0});
      add_product<T>(query, key, static_cast<T>(layer.scale), scores);
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::span<T> row = row_of(scores, i);
        weigh(layer, b, h, i, row, next_shown.first(shows ? row.size() : 0));
        if (shows) next_shown = next_shown.subspan(row.size());
      }
      add_product<T>(as_const(scores), layer.v.head(layer.values.as<T>().data(), b, shared), T{1},
                     out.head(y.fill<T>().data(), b, h));
    }
  }
  return Tensors{std::move(y), std::move(shown)};
}

// Results: Y, the present keys, the present values, the scores.
Expected<Tensors> attention(const KernelCall& call) {
  QUADRANT_TRY(AttentionLayer layer, attention_layer(call));
  const Tensor& q = call.operand(0);
  QUADRANT_TRY(Tensors results, with_real(q.element(), [&]<class T>() -> Expected<Tensors> {
                 return attend<T>(layer, q, call.result_count() > 3);
               }));
  results.insert(results.begin() + 1, {std::move(layer.keys), std::move(layer.values)});
  return results;
}

}  // namespace

std::span<const KernelEntry> kernels::in_attention() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::Attention::kind, attention, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
