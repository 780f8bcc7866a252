#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <smg/base/result.hpp>
#include <smg/config/discovery.hpp>

namespace smg::control {

/// What discovery needs to know of a pod.
struct Pod {
  std::string pod_namespace;
  std::string name;
  std::string uid;     ///< another one for each pod that ever had this name
  std::string ip;      ///< canonical, without brackets; empty as long as there is none
  bool ready = false;  ///< runs, says that it is ready, and has not been told to end
  std::vector<std::uint16_t> ports;  ///< a worker listens on each
  std::string model_id = {};         ///< as --model-id-from has it; empty: the worker's own
  // Of prefill and decode workers, from annotations.
  std::optional<std::uint16_t> bootstrap_port = {};
  std::string kv_connector = {};
  std::vector<std::string> kv_engine_ids = {};  ///< by port; fewer than ports: the others have none

  /// What is unique among the pods that there are at a time.
  [[nodiscard]] std::string key() const { return pod_namespace + "/" + name; }

  friend bool operator==(const Pod&, const Pod&) = default;
};

/// One answer to a list call.
struct PodPage {
  std::vector<Pod> pods;
  std::string version;  ///< of the list; a watch goes on from there
  std::string next;     ///< asks for the next page; empty: this is the last one
};

/// One line of a watch.
struct PodEvent {
  enum class Kind : std::uint8_t { Changed, Deleted, Bookmark, Error };

  Kind kind = Kind::Bookmark;
  Pod pod;              ///< of Changed and Deleted
  std::string version;  ///< a watch goes on from there; empty with Error
  int code = 0;         ///< of Error: 410 when the version asked for is too old
  std::string message;  ///< of Error
};

/// Reads what a Kubernetes API server says of pods. Errors are UpstreamBodyFailed: no JSON, or
/// something without the parts that every answer has.
class PodReader {
 public:
  explicit PodReader(const config::Discovery& settings);
  ~PodReader();

  [[nodiscard]] Result<PodPage> read_page(std::string_view json);
  [[nodiscard]] Result<PodEvent> read_event(std::string_view json);

  /// The message of a Status, the API server's way to refuse a call; empty if it is none.
  [[nodiscard]] std::string read_refusal(std::string_view json);

 private:
  struct Parser;

  const config::Discovery& settings_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace smg::control
