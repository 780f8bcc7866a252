#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace smg::routing {

/// Remembers which holders (workers, by serial) have been given which beginnings of prompts, as far
/// as a budget goes: a radix tree over bytes, whose nodes list their holders. What has not been
/// used for longest is forgotten first, holder by holder and from the ends of prompts inwards.
///
/// Thread-safe, under one lock: a match of 8 KiB holds it for about a microsecond.
class PrefixTree {
 public:
  static constexpr std::size_t kMaxMatchHolders = 32;

  struct Match {
    std::size_t bytes = 0;  ///< of the prompt that are known, cut to whole units
    /// Who has been given them, the last one first.
    std::array<std::uint32_t, kMaxMatchHolders> holders{};
    std::size_t holder_count = 0;
  };

  /// `unit`: prompts count in multiples of so many bytes. `max_bytes`: the budget, summed over all
  /// holders; a piece of a prompt counts as at least kMinPieceBytes, so that it bounds memory.
  PrefixTree(std::size_t unit, std::uint64_t max_bytes);
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;
  ~PrefixTree();

  [[nodiscard]] Match match(std::string_view prompt) const;

  /// The holder has been given this prompt.
  void insert(std::string_view prompt, std::uint32_t holder);

  /// What counts against the budget.
  [[nodiscard]] std::uint64_t size() const;

  /// What is remembered: bytes of prompts, summed over the holders, and who they are.
  struct Contents {
    std::uint64_t bytes = 0;
    std::vector<std::uint32_t> holders;
  };
  [[nodiscard]] Contents contents() const;

  static constexpr std::size_t kMinPieceBytes = 64;

 private:
  struct Node;
  struct Holding;

  [[nodiscard]] std::string_view cut(std::string_view prompt) const noexcept;
  Node* split(Node& node, std::size_t length);
  Node* path_to(std::string_view prompt);
  void use(Node& node, std::uint32_t holder);
  void link_newest(Holding& holding) noexcept;
  void unlink(Holding& holding) noexcept;
  void drop_oldest();

  const std::size_t unit_;
  const std::uint64_t max_bytes_;
  mutable std::mutex mutex_;
  std::unique_ptr<Node> root_;
  Holding* newest_ = nullptr;
  Holding* oldest_ = nullptr;
  std::uint64_t size_ = 0;
  std::uint64_t held_bytes_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> pieces_;  ///< of each holder
};

}  // namespace smg::routing
