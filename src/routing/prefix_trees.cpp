#include "routing/prefix_trees.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace smg::routing {

/// One holder of one node. All holdings are in a list by last use, in which those of a node come
/// after (are newer than) the same holder's further down: so the oldest of all is always at an end.
struct PrefixTree::Holding {
  Node* node;
  Holding* newer = nullptr;
  Holding* older = nullptr;
};

struct PrefixTree::Node {
  /// Side by side, so that the many holders of a much used beginning are quick to search.
  struct Entry {
    std::uint32_t holder;
    std::unique_ptr<Holding> holding;
  };

  Node(Node* above, std::string_view text) : parent(above), label(text) {}

  [[nodiscard]] std::size_t slot_of(char first) const noexcept { return first_bytes.find(first); }

  [[nodiscard]] Node* child(char first) const noexcept {
    const auto slot = slot_of(first);
    return slot == std::string::npos ? nullptr : children[slot].get();
  }

  [[nodiscard]] std::uint64_t cost() const noexcept {
    return std::max(label.size(), kMinPieceBytes);
  }

  Node* parent;
  std::string label;        // the piece of prompts between the parent and here
  std::string first_bytes;  // of the children's labels, in the order of `children`
  std::vector<std::unique_ptr<Node>> children;
  std::vector<Entry> entries;  // the last used first
};

namespace {

std::size_t common_prefix(std::string_view a, std::string_view b) noexcept {
  const std::size_t length = std::min(a.size(), b.size());
  std::size_t at = 0;
  for (; at + 8 <= length; at += 8) {
    std::uint64_t left = 0;
    std::uint64_t right = 0;
    std::memcpy(&left, a.data() + at, 8);
    std::memcpy(&right, b.data() + at, 8);
    static_assert(std::endian::native == std::endian::little);
    if (left != right) return at + static_cast<std::size_t>(std::countr_zero(left ^ right)) / 8;
  }
  while (at < length && a[at] == b[at]) ++at;
  return at;
}

}  // namespace

PrefixTree::PrefixTree(std::size_t unit, std::uint64_t max_bytes)
    : unit_(unit), max_bytes_(max_bytes), root_(std::make_unique<Node>(nullptr, "")) {}

PrefixTree::~PrefixTree() {
  // From the ends inwards, where plain destruction would recurse as deep as the tree is.
  while (oldest_ != nullptr) drop_oldest();
}

std::string_view PrefixTree::cut(std::string_view prompt) const noexcept {
  return prompt.substr(0, prompt.size() - prompt.size() % unit_);
}

PrefixTree::Match PrefixTree::match(std::string_view prompt) const {
  const std::lock_guard lock(mutex_);
  const std::string_view whole = cut(prompt);
  const Node* node = root_.get();
  std::size_t begin = 0;  // of the node's label in the prompt
  std::size_t known = 0;
  while (known < whole.size()) {
    const Node* const child = node->child(whole[known]);
    if (child == nullptr) break;
    begin = known;
    known += common_prefix(child->label, whole.substr(known));
    node = child;
    if (known < begin + child->label.size()) break;
  }
  Match result;
  result.bytes = known - known % unit_;
  if (result.bytes == 0) return result;
  // The last whole unit may end further up.
  while (begin >= result.bytes) {
    node = node->parent;
    begin -= node->label.size();
  }
  result.holder_count = std::min(node->entries.size(), kMaxMatchHolders);
  for (std::size_t i = 0; i < result.holder_count; ++i) {
    result.holders[i] = node->entries[i].holder;
  }
  return result;
}

void PrefixTree::insert(std::string_view prompt, std::uint32_t holder) {
  const std::lock_guard lock(mutex_);
  for (Node* node = path_to(cut(prompt)); node != root_.get(); node = node->parent) {
    use(*node, holder);
  }
  while (size_ > max_bytes_) drop_oldest();
}

std::uint64_t PrefixTree::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

PrefixTree::Contents PrefixTree::contents() const {
  const std::lock_guard lock(mutex_);
  Contents contents{held_bytes_, {}};
  contents.holders.reserve(pieces_.size());
  for (const auto& [holder, pieces] : pieces_) contents.holders.push_back(holder);
  return contents;
}

/// The node at which the prompt ends, made if need be.
PrefixTree::Node* PrefixTree::path_to(std::string_view prompt) {
  Node* node = root_.get();
  while (!prompt.empty()) {
    Node* child = node->child(prompt.front());
    if (child == nullptr) {
      node->children.push_back(std::make_unique<Node>(node, prompt));
      node->first_bytes += prompt.front();
      return node->children.back().get();
    }
    const std::size_t common = common_prefix(child->label, prompt);
    node = common < child->label.size() ? split(*child, common) : child;
    prompt.remove_prefix(common);
  }
  return node;
}

/// Puts a new node above `node` that takes the first `length` bytes of its label, and all its
/// holders.
PrefixTree::Node* PrefixTree::split(Node& node, std::size_t length) {
  Node& parent = *node.parent;
  auto& place = parent.children[parent.slot_of(node.label.front())];
  auto upper = std::make_unique<Node>(&parent, std::string_view(node.label).substr(0, length));
  const std::uint64_t cost_before = node.cost();
  node.label = node.label.substr(length);  // in a buffer of its size
  node.parent = upper.get();
  upper->first_bytes += node.label.front();
  upper->entries.reserve(node.entries.size());
  for (const auto& [holder, lower] : node.entries) {
    auto copy = std::make_unique<Holding>(Holding{upper.get(), lower->newer, lower.get()});
    (copy->newer != nullptr ? copy->newer->older : newest_) = copy.get();
    lower->newer = copy.get();
    upper->entries.push_back({holder, std::move(copy)});
    size_ += upper->cost() + node.cost() - cost_before;
    ++pieces_[holder];
  }
  upper->children.push_back(std::move(place));
  place = std::move(upper);
  return place.get();
}

/// Makes the holder the newest of this node, and this holding the newest of all.
void PrefixTree::use(Node& node, std::uint32_t holder) {
  auto& entries = node.entries;
  auto entry = std::find_if(entries.begin(), entries.end(),
                            [&](const Node::Entry& known) { return known.holder == holder; });
  if (entry == entries.end()) {
    entries.push_back({holder, std::make_unique<Holding>(Holding{&node})});
    entry = entries.end() - 1;
    size_ += node.cost();
    held_bytes_ += node.label.size();
    ++pieces_[holder];
  } else {
    unlink(*entry->holding);
  }
  link_newest(*entry->holding);
  std::rotate(entries.begin(), entry, entry + 1);
}

void PrefixTree::link_newest(Holding& holding) noexcept {
  holding.newer = nullptr;
  holding.older = std::exchange(newest_, &holding);
  (holding.older != nullptr ? holding.older->newer : oldest_) = &holding;
}

void PrefixTree::unlink(Holding& holding) noexcept {
  (holding.newer != nullptr ? holding.newer->older : newest_) = holding.older;
  (holding.older != nullptr ? holding.older->newer : oldest_) = holding.newer;
}

void PrefixTree::drop_oldest() {
  Holding* const oldest = oldest_;
  Node& node = *oldest->node;
  unlink(*oldest);
  // Near the end, since the entries are by use as well.
  const auto entry = std::find_if(node.entries.rbegin(), node.entries.rend(),
                                  [&](const Node::Entry& e) { return e.holding.get() == oldest; });
  const auto pieces = pieces_.find(entry->holder);
  if (--pieces->second == 0) pieces_.erase(pieces);
  node.entries.erase(entry.base() - 1);
  size_ -= node.cost();
  held_bytes_ -= node.label.size();
  if (!node.entries.empty()) return;
  // Nobody holds more than this node, so nothing is below it.
  Node& parent = *node.parent;
  const std::size_t slot = parent.slot_of(node.label.front());
  parent.first_bytes[slot] = parent.first_bytes.back();
  parent.first_bytes.pop_back();
  std::swap(parent.children[slot], parent.children.back());
  parent.children.pop_back();
}

}  // namespace smg::routing
