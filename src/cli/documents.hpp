#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

/// What `smg print` prints: documents that are made from the flags and the metrics, so that they
/// cannot fall behind them.
namespace smg::cli {

/// The words that `smg print` takes.
[[nodiscard]] std::span<const std::string_view> document_names();

/// Writes the document of that name; false if there is none.
[[nodiscard]] bool write_document(std::string_view name, std::ostream& out);

/// A manual page in man(7)'s macros.
void write_manual_page(std::ostream& out);
void write_bash_completion(std::ostream& out);
void write_zsh_completion(std::ostream& out);
void write_fish_completion(std::ostream& out);
/// Reference pages in Markdown.
void write_flags_page(std::ostream& out);
void write_metrics_page(std::ostream& out);

/// `text` with `with` in front of each of the characters of `special`.
[[nodiscard]] std::string escaped(std::string_view text, std::string_view special,
                                  std::string_view with);

}  // namespace smg::cli
