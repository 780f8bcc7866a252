#include <smg/cli/run.hpp>

int main(int argc, char** argv) {
  return smg::cli::run(argc, argv);
}
