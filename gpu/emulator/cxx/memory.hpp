// Memory that ends, or begins, at a page nobody may touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace emulator {

inline size_t page_size() {
    static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

inline size_t whole_pages(size_t bytes) { return (bytes + page_size() - 1) / page_size() * page_size(); }

// Pages between two guard pages.
class Guarded {
   public:
    explicit Guarded(size_t bytes) : size_(whole_pages(bytes)) {
        void *all = mmap(nullptr, size_ + 2 * page_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all == MAP_FAILED) return;
        base_ = static_cast<std::byte *>(all);
        if (size_ > 0 && mprotect(begin(), size_, PROT_READ | PROT_WRITE) != 0) release();
    }
    ~Guarded() { release(); }
    Guarded(const Guarded &) = delete;
    Guarded &operator=(const Guarded &) = delete;

    bool usable() const { return base_ != nullptr; }
    size_t size() const { return size_; }
    std::byte *begin() const { return base_ + page_size(); }
    std::byte *end() const { return begin() + size_; }

   private:
    void release() {
        if (base_ != nullptr) munmap(base_, size_ + 2 * page_size());
        base_ = nullptr;
    }

    size_t size_;
    std::byte *base_ = nullptr;
};

// Every number that is read before it is written is a NaN.
inline void poison(void *from, size_t bytes) { std::memset(from, 0xff, bytes); }

}  // namespace emulator
