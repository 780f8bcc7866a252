#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

/// The only place that names Asio's types for the layers above: coroutines and their executor.
namespace smg::net {

namespace asio = boost::asio;

/// Concrete rather than any_io_executor: half the cost of a post.
using Executor = asio::io_context::executor_type;

/// A coroutine on one IoThread. It is a verb, may suspend, and reports failure in its value.
template <class T = void>
using Task = asio::awaitable<T, Executor>;

}  // namespace smg::net
