#include "http/http_date.hpp"

#include <ctime>

namespace smg::http {

std::string_view date_now() {
  thread_local std::time_t formatted_for = 0;
  thread_local char text[32];
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (now.tv_sec != formatted_for) {
    formatted_for = now.tv_sec;
    std::tm parts{};
    ::gmtime_r(&now.tv_sec, &parts);
    std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  }
  return text;
}

}  // namespace smg::http
