#include "kernels/host/page_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace vitrine {
namespace {

std::string mebibytes(std::uint64_t bytes) {
    return std::to_string((bytes + (std::uint64_t{1} << 20U) - 1) >> 20U) + " MiB";
}

// The number in a one-line file of a control group; none for "max" and for a file that is not there.
bool read_number(const std::string& path, std::uint64_t& out) {
    std::ifstream in(path);
    std::string word;
    if (!(in >> word)) return false;
    return std::from_chars(word.data(), word.data() + word.size(), out).ec == std::errc();
}

// Version 2 of the control groups: limits of this process's group and of those above it.
void apply_cgroup_limits(SystemMemory& memory) {
    std::ifstream in("/proc/self/cgroup");
    std::string line;
    std::string group;
    while (std::getline(in, line))
        if (line.starts_with("0::")) group = line.substr(3);
    if (group.empty()) return;
    for (int depth = 0; depth < 32; ++depth) {
        const std::string folder = "/sys/fs/cgroup" + (group == "/" ? std::string() : group);
        std::uint64_t limit = 0;
        if (read_number(folder + "/memory.max", limit)) {
            std::uint64_t current = 0;
            read_number(folder + "/memory.current", current);
            memory.total = std::min(memory.total, limit);
            memory.free = std::min(memory.free, limit > current ? limit - current : 0);
        }
        if (group.empty() || group == "/") return;
        group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
    }
}

}  // namespace

SystemMemory system_memory() {
    SystemMemory memory;
    std::ifstream in("/proc/meminfo");
    std::string key;
    std::uint64_t kibibytes = 0;
    std::string rest;
    while (in >> key >> kibibytes && std::getline(in, rest)) {
        if (key == "MemTotal:") memory.total = kibibytes << 10U;
        if (key == "MemAvailable:") memory.free = kibibytes << 10U;
    }
    if (memory.total == 0) {  // no /proc: what POSIX can tell
        const long pages = sysconf(_SC_PHYS_PAGES);
        const long page = sysconf(_SC_PAGESIZE);
        if (pages > 0 && page > 0)
            memory.total = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
        memory.free = memory.total;
    }
    apply_cgroup_limits(memory);
    return memory;
}

PageMemory::PageMemory(PageMemory&& other) noexcept { *this = std::move(other); }

PageMemory& PageMemory::operator=(PageMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_, other.mapped_);
    return *this;
}

PageMemory::~PageMemory() {
    if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

Result<PageMemory> PageMemory::make(std::uint64_t bytes, std::string_view what, Pages pages) {
    const std::uint64_t free = system_memory().free;
    const auto refused = [&] {
        return Error{ErrorKind::OutOfMemory,
                     std::string(what) + " needs " + mebibytes(bytes) + ", but only " + mebibytes(free) +
                         " of main memory is free. Close other programs, or choose a smaller "
                         "model, format or context."};
    };
    // Mappings are granted beyond what exists; the process would be killed when it touches them.
    if (bytes > free) return refused();
    PageMemory memory;
    memory.size_ = static_cast<std::size_t>(bytes);
    if (bytes == 0) return memory;
    memory.mapped_ = memory.size_ + kHugePage;  // no wrap: bytes <= free
    void* mapping = mmap(nullptr, memory.mapped_, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return refused();
    memory.mapping_ = mapping;
    const auto address = reinterpret_cast<std::uintptr_t>(mapping);
    memory.data_ = static_cast<std::byte*>(mapping) + ((kHugePage - address % kHugePage) % kHugePage);
#if defined(MADV_HUGEPAGE)
    // A wish: where the system has no huge pages the mapping works as it is.
    if (bytes >= kHugePage)
        madvise(memory.data_, memory.size_, pages == Pages::Huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
    return memory;
}

Result<WeightArena::Piece> WeightArena::take(std::uint64_t bytes, std::string_view what) {
    const std::uint64_t rounded = (bytes + 63) & ~std::uint64_t{63};
    if (rounded < bytes)
        return Error{ErrorKind::OutOfMemory, std::string(what) + " is larger than any memory."};
    if (rounded >= kSlab) {
        VITRINE_TRY(PageMemory memory, PageMemory::make(rounded, what));
        auto owner = std::make_shared<const PageMemory>(std::move(memory));
        return Piece{owner->data(), owner};
    }
    std::shared_ptr<const PageMemory> owner = slab_.lock();
    if (owner == nullptr || owner->size() - used_ < rounded) {
        // A whole slab where it fits (its untouched end costs nothing), else just this piece.
        Result<PageMemory> memory = PageMemory::make(kSlab, what);
        if (!memory.ok()) memory = PageMemory::make(rounded, what);
        if (!memory.ok()) return std::move(memory).error();
        owner = std::make_shared<const PageMemory>(std::move(memory).value());
        slab_ = owner;
        used_ = 0;
    }
    std::byte* data = owner->data() + used_;
    used_ += rounded;
    return Piece{data, owner};
}

}  // namespace vitrine
