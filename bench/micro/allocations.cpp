#include "micro/allocations.hpp"

#include <cstdlib>
#include <new>

namespace {

thread_local std::uint64_t calls = 0;

}  // namespace

namespace smg::bench {

std::uint64_t allocations() noexcept {
  return calls;
}

}  // namespace smg::bench

// The other forms that anybody here uses call these two.
void* operator new(std::size_t size) {
  ++calls;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}
