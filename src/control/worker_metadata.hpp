#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smg::control {

/// One entry of a worker's `/v1/models`.
struct DiscoveredModel {
  std::string id;
  std::optional<std::uint64_t> max_model_len;
};

/// What a worker says of itself (policies_and_workers 5.4).
struct DiscoveredWorker {
  std::map<std::string, std::string> labels;  ///< known scalars, as text
  std::vector<DiscoveredModel> models;        ///< in the worker's order
  std::string runtime_type = "unspecified";
};

/// Gathers a worker's answers. Each `read` takes a whole body and ignores what it does not
/// understand, as engines differ. What is known already is not overwritten: read the surest first.
class MetadataReader {
 public:
  /// `/server_info` or `/model_info`.
  void read_info(std::string_view json);
  /// `/v1/models`
  void read_models(std::string_view json);
  /// `/version`
  void read_version(std::string_view json);

  void found_server_info() noexcept { has_server_info_ = true; }
  void found_version() noexcept { has_version_ = true; }

  /// The engine is known from `owned_by`, or by the endpoints it has.
  [[nodiscard]] std::string runtime_type() const;

  [[nodiscard]] DiscoveredWorker take();

 private:
  void label(std::string_view name, std::string content);

  DiscoveredWorker found_;
  std::string owner_;
  bool has_server_info_ = false;
  bool has_version_ = false;
};

}  // namespace smg::control
