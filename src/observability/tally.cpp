#include "smg/observability/tally.hpp"

#include <limits>
#include <mutex>
#include <set>

namespace smg::observability {
namespace {

/// The numbers that no thread has, the lowest first.
class FreeNumbers {
 public:
  [[nodiscard]] std::size_t take() {
    const std::lock_guard lock(mutex_);
    if (given_back_.empty()) return next_++;
    return given_back_.extract(given_back_.begin()).value();
  }

  void give_back(std::size_t number) {
    const std::lock_guard lock(mutex_);
    given_back_.insert(number);
  }

 private:
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::set<std::size_t> given_back_;
};

FreeNumbers& free_numbers() {
  static auto& numbers = *new FreeNumbers;  // threads may end after static objects do
  return numbers;
}

/// Gives a thread's number back when the thread ends. What still counts then has none of its own.
class NumberHold {
 public:
  NumberHold() : number_(free_numbers().take()) {}
  NumberHold(const NumberHold&) = delete;
  NumberHold& operator=(const NumberHold&) = delete;
  ~NumberHold() {
    detail::number_and_one = std::numeric_limits<std::size_t>::max();
    free_numbers().give_back(number_);
  }

  [[nodiscard]] std::size_t number() const noexcept { return number_; }

 private:
  std::size_t number_;
};

}  // namespace

void detail::take_number() {
  thread_local const NumberHold hold;
  number_and_one = hold.number() + 1;
}

}  // namespace smg::observability
