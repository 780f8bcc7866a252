#pragma once

namespace smg::cli {

/// The whole program: reads the command line, runs what it asks for, returns the exit code
/// (ruling 31: 0 asked-for stop, 1 configuration error, 2 usage error).
int run(int argc, char** argv);

}  // namespace smg::cli
