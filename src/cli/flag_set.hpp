#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/flag_facts.hpp"
#include "cli/support_status.hpp"
#include "cli/words.hpp"

namespace smg::cli {

enum class Arity : std::uint8_t { Switch, One, Any, AtLeastOne };

/// What is said of a flag wherever it is bound.
struct FlagText {
  std::string names;       ///< "--name,--alias"; "!--no-name" turns a switch off
  std::string value_name;  ///< in help; empty for switches
  std::string help;
};

struct Flag {
  FlagText text;
  std::string default_text;
  Arity arity = Arity::One;
  std::function<void(const Words&)> apply;  ///< throws UsageError or ValueError
  /// Read after SMG_<FLAG>; a word in them that the flag does not understand is ignored.
  Words other_variables{};
  Words choices{};            ///< for completion; `apply` judges the words
  bool fails_closed = false;  ///< a variable that is there counts, even if it is empty
};

/// The flags of one command. CLI11 finds their words on the command line; this class looks for the
/// rest of them in the environment and in a file, and turns words into settings.
class FlagSet {
 public:
  explicit FlagSet(CLI::App& app) : app_(app) {}

  /// The heading in help of the flags added from now on.
  void group(std::string heading) { heading_ = std::move(heading); }

  /// Returns the flag as it is kept, for as long as no other is added.
  Flag& add(Flag flag);
  void toggle(const FlagText& text, bool& target);
  void text(const FlagText& text, std::string& target);
  void real(const FlagText& text, double& target);
  void list(const FlagText& text, std::vector<std::string>& target);
  void choice(const FlagText& text, std::vector<std::string> choices, std::string default_text,
              std::function<void(const std::string&)> set);

  template <std::unsigned_integral T>
  void number(const FlagText& text, T& target) {
    add({text, std::to_string(target), Arity::One, [&target](const Words& words) {
           const auto value = to_unsigned(words.front(), std::numeric_limits<T>::max());
           target = static_cast<T>(value);
         }});
  }

  /// A whole number of the duration's unit.
  template <class Rep, class Period>
  void duration(const FlagText& text, std::chrono::duration<Rep, Period>& target) {
    using Duration = std::chrono::duration<Rep, Period>;
    add({text, std::to_string(target.count()), Arity::One, [&target](const Words& words) {
           const auto most = std::chrono::duration_cast<Duration>(kLongest).count();
           const auto value = to_unsigned(words.front(), static_cast<std::uint64_t>(most));
           target = Duration{static_cast<Rep>(value)};
         }});
  }

  /// A flag that is understood and has nothing to act upon.
  void accepted(const FlagText& text);

  /// Adds the refused flags that no binding has added.
  void add_refused();

  /// Judges what CLI11 could not place: a flag of a refused family is a problem, all else a
  /// UsageError.
  void apply_unknown(const Words& words);

  /// Applies the command line, and the environment to the flags that it leaves out.
  void apply_given();

  /// Applies a file to the flags that neither the command line nor the environment has given.
  void apply_file(const std::string& path);

  /// All flags but those that are gone for good, in the order of help.
  [[nodiscard]] std::vector<FlagFacts> facts() const;

  /// What went wrong with flags that were understood, as `--flag: why`, in the order found.
  [[nodiscard]] const std::vector<std::string>& problems() const noexcept { return problems_; }

 private:
  /// Ends the arithmetic of clocks well before it overflows: 30 years.
  static constexpr std::chrono::hours kLongest{30L * 365 * 24};

  struct Entry {
    Flag flag;
    std::string name;     ///< the first of its names
    std::string heading;  ///< empty: not in help
    std::string help;     ///< without the default
    CLI::Option* option = nullptr;
    const RefusedFlag* refused = nullptr;
    bool given = false;
  };

  [[nodiscard]] Entry* find(std::string_view key, bool& negated);
  void apply(Entry& entry, Words words, bool negated = false);
  void apply_environment(Entry& entry);
  void apply_file_words(Entry& entry, const Words& words, bool negated);
  void apply_file_item(const CLI::ConfigItem& item, const std::string& path);

  CLI::App& app_;
  std::string heading_ = "General";
  std::vector<Entry> entries_;
  std::vector<std::string> problems_;
};

}  // namespace smg::cli
