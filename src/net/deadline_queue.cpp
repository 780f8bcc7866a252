#include <smg/net/deadline_queue.hpp>

namespace smg::net {

void Deadline::arm(Duration after) {
  if (after <= Duration::zero()) {
    disarm();
  } else {
    arm_at(queue_.now() + after);
  }
}

void Deadline::arm_at(TimePoint when) {
  disarm();
  when_ = when;
  queue_.insert(*this);
}

void Deadline::disarm() noexcept {
  if (armed()) queue_.remove(*this);
}

void DeadlineQueue::advance(TimePoint now) {
  while (!heap_.empty() && heap_.front()->when_ <= now) {
    Deadline& due = *heap_.front();
    remove(due);
    due.expired_();
  }
}

void DeadlineQueue::insert(Deadline& deadline) {
  heap_.push_back(&deadline);
  deadline.position_ = heap_.size() - 1;
  sift_up(deadline.position_);
}

void DeadlineQueue::remove(Deadline& deadline) noexcept {
  const std::size_t hole = deadline.position_;
  deadline.position_ = Deadline::kNotQueued;
  Deadline* last = heap_.back();
  heap_.pop_back();
  if (last == &deadline) return;
  place(hole, last);
  sift_up(hole);
  sift_down(last->position_);
}

void DeadlineQueue::place(std::size_t position, Deadline* deadline) noexcept {
  heap_[position] = deadline;
  deadline->position_ = position;
}

void DeadlineQueue::sift_up(std::size_t position) noexcept {
  Deadline* moving = heap_[position];
  while (position > 0) {
    const std::size_t parent = (position - 1) / 2;
    if (heap_[parent]->when_ <= moving->when_) break;
    place(position, heap_[parent]);
    position = parent;
  }
  place(position, moving);
}

void DeadlineQueue::sift_down(std::size_t position) noexcept {
  Deadline* moving = heap_[position];
  for (;;) {
    std::size_t child = 2 * position + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->when_ < heap_[child]->when_) ++child;
    if (moving->when_ <= heap_[child]->when_) break;
    place(position, heap_[child]);
    position = child;
  }
  place(position, moving);
}

}  // namespace smg::net
