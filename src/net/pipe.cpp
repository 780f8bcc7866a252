#include <new>

#include <fcntl.h>
#include <unistd.h>

#include "net/descriptor_reserve.hpp"
#include <smg/net/pipe.hpp>

namespace smg::net {

std::unique_ptr<Pipe> Pipe::open() noexcept {
  int ends[2];
  if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) return nullptr;
  std::unique_ptr<Pipe> pipe(new (std::nothrow) Pipe(ends[0], ends[1]));
  if (!pipe) {
    ::close(ends[0]);
    ::close(ends[1]);
  } else if (ends[1] >= first_reserved_descriptor() ||
             ::fcntl(pipe->write_end(), F_SETPIPE_SZ, static_cast<int>(kBytes)) < 0) {
    pipe.reset();
  }
  return pipe;
}

Pipe::~Pipe() {
  ::close(read_end_);
  ::close(write_end_);
}

}  // namespace smg::net
