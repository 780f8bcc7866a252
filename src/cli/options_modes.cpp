#include "cli/options.hpp"

namespace smg::cli {

void bind_modes(FlagSet& flags, config::Modes& modes) {
  flags.group("Modes");
  flags.toggle(
      {"--enable-igw", "",
       "many models behind one gateway: the model of a request's body chooses its workers"},
      modes.multi_model);
}

}  // namespace smg::cli
