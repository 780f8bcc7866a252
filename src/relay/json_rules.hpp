#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include <smg/config/inference_route.hpp>

namespace smg::relay::json {

/// Kinds of JSON values, as bits so that a rule can allow several.
enum Shape : std::uint8_t {
  kInvalid = 0,
  kNull = 1,
  kBool = 2,
  kNumber = 4,
  kString = 8,
  kArray = 16,
  kObject = 32,
};

/// What the inspection does with a field beyond its shape and range.
enum class Meaning : std::uint8_t {
  Plain,
  Model,
  Stream,
  Rid,
  DataParallelRank,
  ChatMessages,
  Messages,
  Prompt,
  Stop,
  TopK,
  Logprobs,
  TopLogprobs,
  StreamOptions,
  Tools,
  ToolChoice,
};

/// The values that a number may have.
struct NumberRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool without_low = false;  ///< `low` itself is excluded
  bool whole = false;        ///< 3 and 3.0 are, 3.5 is a wrong type
  std::string_view text;     ///< "must be …"

  [[nodiscard]] constexpr bool holds(double value) const noexcept {
    return value >= low && value <= high && !(without_low && value == low);
  }
};

/// One field of a route's object that is looked at.
struct FieldRule {
  std::string_view name;
  Meaning meaning = Meaning::Plain;
  unsigned shapes = 0;        ///< bits of Shape
  std::string_view expected;  ///< "expected …", said of other shapes
  NumberRange range;
  bool required = false;
};

/// The rules of a route (request_path of the specification, "Buffered requests"), at most 32. A
/// field without one passes whatever its value.
[[nodiscard]] std::span<const FieldRule> rules_of(InferenceRoute route) noexcept;

}  // namespace smg::relay::json
