#include "cli/flag_set.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>

#include <smg/base/text.hpp>

namespace smg::cli {
namespace {

constexpr std::string_view kNotYet = "not supported yet";
/// Stands for "the flag was there, without words". No argument can hold it: it is what CLI11
/// reports for a list without elements, where it could not be told from an empty word.
const std::string kNoWords(1, '\0');

std::string first_name(std::string_view names) {
  return std::string(names.substr(0, names.find(',')));
}

/// `SMG_RETRY_MAX_RETRIES` for `--retry-max-retries`.
std::string variable_of(std::string_view name) {
  std::string variable = "SMG_";
  for (const char c : name.substr(2)) {
    variable += c == '-' ? '_' : (c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
  }
  return variable;
}

/// The value of a flag's variable. As unset count an empty one, and Kubernetes' SMG_PORT=tcp://…
/// for a service named smg, which is not meant for us. Of a flag that guards access neither does:
/// a key that came out empty would open what it was to close (ruling 26).
std::optional<std::string> environment(const std::string& variable, const Flag& flag) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read at the start, before there are threads.
  const char* value = std::getenv(variable.c_str());
  if (value == nullptr) return std::nullopt;
  const std::string_view text(value);
  if (!flag.fails_closed && (text.empty() || text.starts_with("tcp://"))) return std::nullopt;
  return value;
}

/// TOML's 1_000 as 1000. An underscore that has no digit on either side stays, to be refused.
std::string without_digit_separators(std::string_view word) {
  const auto is_digit = [word](std::size_t at) {
    return at < word.size() && word[at] >= '0' && word[at] <= '9';
  };
  std::string plain;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool separates = word[i] == '_' && i > 0 && is_digit(i - 1) && is_digit(i + 1);
    if (!separates) plain += word[i];
  }
  return plain;
}

bool is_list(Arity arity) {
  return arity == Arity::Any || arity == Arity::AtLeastOne;
}

/// Whether the words of a refused flag leave its feature off.
bool is_off(Arity arity, const Words& words) {
  return arity == Arity::Switch && !to_bool(words.front());
}

std::string help_of(const Flag& flag, const RefusedFlag* refused, bool own_heading) {
  const bool says_so = refused != nullptr && !own_heading;
  return flag.text.help + (says_so ? " (not supported yet)" : "");
}

/// Calls `take(name, negated)` for each of a flag's names.
template <class Take>
void for_each_name(std::string_view names, Take take) {
  while (!names.empty()) {
    auto name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    const bool negated = name.starts_with('!');
    if (negated) name.remove_prefix(1);
    take(name, negated);
  }
}

CLI::Option* add_to(CLI::App& app, const Flag& flag) {
  if (flag.arity == Arity::Switch) return app.add_flag(flag.text.names);
  auto* option = app.add_option(flag.text.names);
  option->option_text(flag.text.value_name)->type_name("value");
  if (!is_list(flag.arity)) return option->take_last();
  // Both calls are needed: without the second, CLI11 2.1 takes no words at all.
  option->expected(flag.arity == Arity::Any ? 0 : 1, -1)->allow_extra_args();
  return option->take_all()->default_str(kNoWords);
}

/// The words of an option on the command line: of a scalar only the last counts.
Words words_of(const CLI::Option& option, Arity arity) {
  Words words = option.results();
  if (!is_list(arity)) words.erase(words.begin(), words.end() - 1);
  if (arity == Arity::Switch) return words;
  std::erase(words, kNoWords);
  for (const auto& word : words) {
    if (word.starts_with("--")) throw UsageError("expected a value, not " + word);
  }
  return words;
}

}  // namespace

Flag& FlagSet::add(Flag flag) {
  Entry entry;
  entry.name = first_name(flag.text.names);
  entry.refused = find_refused(entry.name);
  entry.option = add_to(app_, flag);
  const bool own_heading = flag.apply == nullptr;
  const bool hidden = entry.refused != nullptr && entry.refused->refused == Refused::Removed;
  entry.heading = hidden ? "" : heading_;
  entry.help = help_of(flag, entry.refused, own_heading);
  const auto& shown_default = flag.default_text;
  entry.option->group(entry.heading);
  entry.option->description(entry.help + (shown_default.empty() ? "" : " [" + shown_default + "]"));
  entry.flag = std::move(flag);
  return entries_.emplace_back(std::move(entry)).flag;
}

void FlagSet::toggle(const FlagText& text, bool& target) {
  add({text, target ? "on" : "off", Arity::Switch,
       [&target](const Words& words) { target = to_bool(words.front()); }});
}

void FlagSet::text(const FlagText& text, std::string& target) {
  add({text, target.empty() ? "none" : target, Arity::One,
       [&target](const Words& words) { target = words.front(); }});
}

void FlagSet::real(const FlagText& text, double& target) {
  add({text, shown(target), Arity::One,
       [&target](const Words& words) { target = to_double(words.front()); }});
}

void FlagSet::list(const FlagText& text, std::vector<std::string>& target) {
  std::string joined;
  for (const auto& element : target) joined += (joined.empty() ? "" : " ") + element;
  add({text, joined.empty() ? "none" : joined, Arity::Any,
       [&target](const Words& words) { target = words; }});
}

void FlagSet::choice(const FlagText& text, std::vector<std::string> choices,
                     std::string default_text, std::function<void(const std::string&)> set) {
  std::string joined;
  for (const auto& choice : choices) joined += (joined.empty() ? "" : ", ") + choice;
  FlagText with_choices = text;
  with_choices.help += ": " + joined;
  add({with_choices,
       std::move(default_text),
       Arity::One,
       [name = first_name(text.names), choices, joined = std::move(joined),
        set = std::move(set)](const Words& words) {
         const auto& word = words.front();
         if (std::ranges::find(choices, word) == choices.end()) {
           throw UsageError("'" + word + "' is none of " + joined);
         }
         if (is_refused_value(name, word)) throw ValueError(word + " - " + std::string(kNotYet));
         set(word);
       },
       {},
       choices});
}

void FlagSet::accepted(const FlagText& text) {
  const auto arity = text.value_name.empty() ? Arity::Switch : Arity::One;
  add({text, arity == Arity::Switch ? "off" : "none", arity, [arity](const Words& words) {
         if (arity == Arity::Switch) to_bool(words.front());
       }});
}

void FlagSet::add_refused() {
  for (const auto& row : refused_flags()) {
    const auto name = first_name(row.names);
    const auto same = [&](const Entry& entry) { return entry.name == name; };
    if (std::ranges::any_of(entries_, same)) continue;
    const bool is_switch = row.value_name.empty() && row.refused == Refused::Always;
    add({{std::string(row.names), std::string(row.value_name), std::string(row.help)},
         is_switch ? "off" : std::string(row.default_text),
         is_switch ? Arity::Switch : Arity::Any,
         nullptr});
  }
}

void FlagSet::apply_unknown(const Words& words) {
  bool in_family = false;
  for (const auto& word : words) {
    const bool is_number = word.size() > 1 && word[1] >= '0' && word[1] <= '9';
    const bool is_flag = word.starts_with('-') && !is_number;
    // What follows the sign may be a secret given to a misspelt flag.
    const auto name = is_flag ? word.substr(0, word.find('=')) : word;
    if (is_flag) in_family = is_of_refused_family(name);
    if (!in_family) throw UsageError("unknown argument: " + name);
    if (is_flag) problems_.push_back(name + ": " + std::string(kNotYet));
  }
}

void FlagSet::apply(Entry& entry, Words words, bool negated) {
  entry.given = true;
  try {
    if (!is_list(entry.flag.arity) && words.size() != 1) throw ValueError("takes one value");
    if (negated) words.front() = to_bool(words.front()) ? "false" : "true";
    if (entry.flag.arity == Arity::AtLeastOne && words.empty()) {
      throw ValueError("takes at least one value");
    }
    if (entry.refused != nullptr && entry.refused->refused == Refused::Removed) {
      throw UsageError(std::string(entry.refused->help));
    }
    if (entry.refused != nullptr && !is_off(entry.flag.arity, words)) {
      throw ValueError(std::string(kNotYet));
    }
    if (entry.flag.apply) entry.flag.apply(words);
  } catch (const UsageError& error) {
    throw UsageError(entry.name + ": " + error.what());
  } catch (const ValueError& error) {
    for (const auto& reason : error.reasons) problems_.push_back(entry.name + ": " + reason);
  }
}

void FlagSet::apply_environment(Entry& entry) {
  if (const auto value = environment(variable_of(entry.name), entry.flag)) {
    apply(entry, is_list(entry.flag.arity) ? split_list(*value) : Words{*value});
    return;
  }
  for (const auto& variable : entry.flag.other_variables) {
    const auto value = environment(variable, entry.flag);
    if (!value) continue;
    try {
      apply(entry, is_list(entry.flag.arity) ? split_list(*value) : Words{*value});
      return;
    } catch (const UsageError&) {
      entry.given = false;
    }
  }
}

void FlagSet::apply_given() {
  for (auto& entry : entries_) {
    if (entry.option->count() == 0) {
      apply_environment(entry);
      continue;
    }
    Words words;
    try {
      words = words_of(*entry.option, entry.flag.arity);
    } catch (const UsageError& error) {
      throw UsageError(entry.name + ": " + error.what());
    }
    apply(entry, words);
  }
}

FlagSet::Entry* FlagSet::find(std::string_view key, bool& negated) {
  for (auto& entry : entries_) {
    bool found = false;
    for_each_name(entry.flag.text.names, [&](std::string_view name, bool negative) {
      if (found || name.substr(2) != key) return;
      found = true;
      negated = negative;
    });
    if (found) return &entry;
  }
  return nullptr;
}

std::vector<FlagFacts> FlagSet::facts() const {
  std::vector<FlagFacts> all;
  for (const auto& entry : entries_) {
    if (entry.heading.empty()) continue;
    FlagFacts facts;
    for_each_name(entry.flag.text.names, [&](std::string_view name, bool negative) {
      (negative ? facts.negatives : facts.names).emplace_back(name);
    });
    facts.heading = entry.heading;
    facts.value_name = entry.flag.text.value_name;
    facts.default_text = entry.flag.default_text;
    facts.help = entry.help;
    facts.is_list = is_list(entry.flag.arity);
    facts.is_refused = entry.refused != nullptr && entry.refused->refused == Refused::Always;
    std::ranges::copy_if(entry.flag.choices, std::back_inserter(facts.choices),
                         [&](const auto& choice) { return !is_refused_value(entry.name, choice); });
    all.push_back(std::move(facts));
  }
  return all;
}

/// CLI11 drops the quotes that tell text from numbers. Only where the words do not do as text may
/// their underscores be those of TOML's numbers.
void FlagSet::apply_file_words(Entry& entry, const Words& words, bool negated) {
  try {
    apply(entry, words, negated);
  } catch (const UsageError&) {
    Words plain;
    for (const auto& word : words) plain.push_back(without_digit_separators(word));
    if (plain == words) throw;
    apply(entry, plain, negated);
  }
}

void FlagSet::apply_file_item(const CLI::ConfigItem& item, const std::string& path) {
  // How CLI11 reports that a section begins and ends; the keys between have its name in theirs.
  if (item.name == "++" || item.name == "--") return;
  const auto key = item.fullname();
  bool negated = false;
  auto* entry = find(key, negated);
  if (entry == nullptr || entry->name == "--config") {
    problems_.push_back("--config: " + path + " - unknown key '" + key + "'");
    return;
  }
  if (entry->given) return;
  apply_file_words(*entry, item.inputs, negated);
}

void FlagSet::apply_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    problems_.push_back("--config: " + path + " - is a directory");
    return;
  }
  try {
    for (const auto& item : CLI::ConfigTOML().from_file(path)) apply_file_item(item, path);
  } catch (const CLI::Error&) {
    problems_.push_back("--config: " + path + " - cannot be read");
  }
}

}  // namespace smg::cli
