#pragma once

#include <string>
#include <vector>

namespace smg::cli {

/// What the documents made from the flags say of one.
struct FlagFacts {
  std::string heading;
  std::vector<std::string> names;      ///< "--name" first, then its aliases
  std::vector<std::string> negatives;  ///< "--no-name": they turn the switch off
  std::string value_name;              ///< empty: a switch
  std::string default_text;            ///< may be empty
  std::string help;                    ///< says as well if the flag is refused
  std::vector<std::string> choices;    ///< of the value, less those that are refused
  bool is_list = false;                ///< takes several words
  bool is_refused = false;             ///< any use of it
};

}  // namespace smg::cli
