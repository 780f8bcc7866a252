#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <smg/base/body_buffer.hpp>
#include <smg/base/result.hpp>
#include <smg/config/inference_route.hpp>

namespace smg::relay {

/// Bytes of capacity to leave behind a collected body, so that it is parsed where it lies. A body
/// without them is moved to a larger allocation first.
inline constexpr std::size_t kBodyPadding = 64;

/// Containers within containers that a body may have, its own object included.
inline constexpr unsigned kMaxBodyLevels = 1024;

/// A part of a body, in bytes.
struct ByteRange {
  std::size_t offset = 0;
  std::size_t length = 0;
};

/// What the gateway reads of a buffered body, and where an edit would go. All of the object's top
/// level: a `model` further down is somebody else's.
struct BodyFields {
  std::optional<std::string> model;  ///< unescaped; none: absent or null where it is optional
  bool stream = false;               ///< absent and null mean false
  std::optional<std::string> rid;    ///< unescaped; none: absent, null, or a list for a batch

  std::optional<ByteRange> model_value;  ///< the JSON string, with its quotes
  std::vector<ByteRange> rank_values;    ///< every value of `data_parallel_rank`, in order
  std::size_t closing_brace = 0;         ///< offset of the object's last brace
  bool empty_object = false;             ///< the object has no fields
};

/// Checks that `body` is one JSON object (RFC 8259, valid UTF-8, at most kMaxBodyLevels deep) with
/// what `route` requires, and finds the fields above. Values and fields it has no rule for pass, in
/// any spelling. `body` keeps its bytes; its capacity grows if kBodyPadding bytes are not spare.
///
/// Errors, with the wording and status of the route's group: JsonSyntax (400), JsonData (400, or
/// 422 where `facts(route).openai_errors` is false), JsonRange (400). In a body with several
/// faults, they win in this order. Messages name fields, never values. Internal if there is no
/// memory.
[[nodiscard]] Result<BodyFields> inspect_body(InferenceRoute route, BodyBuffer& body);

/// What the gateway changes in a body on its way to a worker.
struct BodyEdits {
  /// Takes the place of the value of `model`; without effect on a body that names no model.
  std::optional<std::string_view> model;
  /// Takes the place of the client's own `data_parallel_rank`, or is appended.
  std::optional<std::uint32_t> data_parallel_rank;
};

/// What takes the place of a part of a body; is inserted, if that part is empty.
struct BodySplice {
  ByteRange where;
  std::string replacement;
};

/// A body with its edits, as pieces to be written one after the other. They view into the body,
/// which must outlive this object, and into the replacements that this object owns.
class EditedBody {
 public:
  /// `fields` must be what inspect_body() found in `body`.
  EditedBody(std::string_view body, const BodyFields& fields, const BodyEdits& edits);
  /// Any splices that do not overlap, at different places.
  EditedBody(std::string_view body, std::vector<BodySplice> splices);
  EditedBody(const EditedBody&) = delete;  // the pieces point into it
  EditedBody& operator=(const EditedBody&) = delete;
  ~EditedBody() = default;

  /// In order, none empty.
  [[nodiscard]] std::span<const std::string_view> pieces() const noexcept { return pieces_; }
  /// Bytes of all pieces together: the Content-Length towards the worker.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  void append(std::string_view piece);

  std::vector<BodySplice> splices_;
  std::vector<std::string_view> pieces_;
  std::uint64_t size_ = 0;
};

}  // namespace smg::relay
