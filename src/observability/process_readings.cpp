#include "observability/process_readings.hpp"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

namespace smg::observability {
namespace {

/// Fields of /proc/self/stat behind the program's name, the third being number 0 here.
constexpr int kThreads = 17;
constexpr int kStartTicks = 19;
constexpr int kResidentPages = 21;

double boot_time() {
  std::ifstream stat("/proc/stat");
  for (std::string line; std::getline(stat, line);) {
    if (line.starts_with("btime ")) return std::stod(line.substr(6));
  }
  return 0;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double count_descriptors() {
  std::error_code error;
  double count = 0;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end; !error && it != end;
       it.increment(error)) {
    ++count;
  }
  return count > 0 ? count - 1 : 0;  // one is the look itself
}

void read_stat(ProcessReadings& readings) {
  static const double boot = boot_time();
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int i = 0; fields >> field && i <= kResidentPages; ++i) {
    if (i == kThreads) readings.threads = std::stod(field);
    if (i == kStartTicks) {
      readings.started = boot + std::stod(field) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    }
    if (i == kResidentPages) {
      readings.resident_bytes = std::stod(field) * static_cast<double>(::sysconf(_SC_PAGESIZE));
    }
  }
}

}  // namespace

ProcessReadings read_process() {
  ProcessReadings readings;
  read_stat(readings);
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    readings.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    readings.most_descriptors = static_cast<double>(limit.rlim_cur);
  }
  readings.open_descriptors = count_descriptors();
  return readings;
}

}  // namespace smg::observability
