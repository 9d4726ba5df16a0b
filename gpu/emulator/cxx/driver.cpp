// A stand-in for the CUDA driver's library, over the emulator: what a program needs that loads PTX, copies, launches and
// waits. Everything runs when it is handed over, so order on a stream is kept by itself.
//
// Like a driver, and more strictly: memory ends at a guard page and holds NaN until it is written; copies and fills must
// lie within one piece of memory; calls need a current context; a module's entry points and the sizes of their parameters
// are those of its PTX and must be those of the kernels' source; a kernel that is stopped makes every later call fail, with the
// emulator's reason as the error's text.
//
// TADPOLE_STAND_IN makes it another machine: words like `devices=0`, `driver=12080`, `capability=75`, `memory=1000000`,
// `init=999`, separated by blanks.

#include "emulator.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <string>
#include <vector>

namespace {

enum Result : int {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    NO_BINARY_FOR_GPU = 209,
    INVALID_PTX = 218,
    NOT_FOUND = 500,
    LAUNCH_OUT_OF_RESOURCES = 701,
    LAUNCH_FAILED = 719,
};

// What a device of recent years allows.
constexpr unsigned THREADS_MAX = 1024, GRID_Y_MAX = 65535, SHARED_DEFAULT = 48 * 1024, SHARED_MAX = 227 * 1024;
constexpr int MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;
constexpr int CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76, MEMORY_POOLS_SUPPORTED = 115;

// A word of TADPOLE_STAND_IN, or what a usual machine has.
unsigned long long setting(const char *name, unsigned long long usual) {
    const char *all = std::getenv("TADPOLE_STAND_IN");
    if (all == nullptr) return usual;
    std::smatch found;
    const std::string text(all);
    const std::regex word("(?:^|\\s)" + std::string(name) + "=(\\d+)");
    return std::regex_search(text, found, word) ? std::strtoull(found[1].str().c_str(), nullptr, 10) : usual;
}

struct Function {
    std::string name;
    std::vector<unsigned> sizes;
    unsigned shared_max = SHARED_DEFAULT;
};

struct Module {
    std::map<std::string, std::unique_ptr<Function>> functions;
};

struct Event {
    std::chrono::steady_clock::time_point at;
};

struct State {
    std::mutex lock;
    bool initialised = false;
    // Not SUCCESS after a kernel was stopped.
    Result poisoned = SUCCESS;
    std::string reason;
    // Bytes of each piece of memory, by where it begins.
    std::map<unsigned long long, size_t> memory;
    size_t memory_used = 0;
    int context = 0;
};

State &state() {
    static State state;
    return state;
}

thread_local void *current_context = nullptr;

// What most calls begin with.
Result usable() {
    if (!state().initialised) return NOT_INITIALIZED;
    if (current_context == nullptr) return INVALID_CONTEXT;
    return state().poisoned;
}

// Whether these bytes lie within one piece of memory.
bool within(unsigned long long address, size_t bytes) {
    auto piece = state().memory.upper_bound(address);
    if (piece == state().memory.begin()) return false;
    piece--;
    return address + bytes <= piece->first + piece->second;
}

Result allocate(unsigned long long *address, size_t bytes) {
    if (const Result result = usable()) return result;
    if (bytes == 0) return INVALID_VALUE;
    if (state().memory_used + bytes > setting("memory", 1ull << 34)) return OUT_OF_MEMORY;
    void *memory = emulator_allocate(bytes, 0);
    if (memory == nullptr) return OUT_OF_MEMORY;
    *address = reinterpret_cast<unsigned long long>(memory);
    state().memory[*address] = bytes;
    state().memory_used += bytes;
    return SUCCESS;
}

Result release(unsigned long long address) {
    if (const Result result = usable()) return result;
    const auto piece = state().memory.find(address);
    if (piece == state().memory.end()) return INVALID_VALUE;
    state().memory_used -= piece->second;
    state().memory.erase(piece);
    emulator_free(reinterpret_cast<void *>(address));
    return SUCCESS;
}

// The entry points of a PTX text, each with the sizes of its parameters.
std::unique_ptr<Module> read_ptx(const std::string &text) {
    auto module = std::make_unique<Module>();
    const std::regex entry("\\.entry\\s+(\\w+)\\s*\\(([^)]*)\\)"), parameter("\\.param\\s+\\.[a-z](\\d+)");
    for (auto found = std::sregex_iterator(text.begin(), text.end(), entry); found != std::sregex_iterator(); found++) {
        auto function = std::make_unique<Function>();
        function->name = (*found)[1];
        const std::string list = (*found)[2];
        for (auto size = std::sregex_iterator(list.begin(), list.end(), parameter); size != std::sregex_iterator(); size++) {
            function->sizes.push_back(static_cast<unsigned>(std::stoul((*size)[1])) / 8);
        }
        module->functions[function->name] = std::move(function);
    }
    return module;
}

// Whether the kernels' source has this entry point with these parameters.
bool is_of_source(const Function &function) {
    unsigned sizes[64];
    const int count = emulator_entry(function.name.c_str(), sizes, 64);
    return count >= 0 && std::vector<unsigned>(sizes, sizes + count) == function.sizes;
}

const char *name_of(int error) {
    switch (error) {
        case SUCCESS: return "CUDA_SUCCESS";
        case INVALID_VALUE: return "CUDA_ERROR_INVALID_VALUE";
        case OUT_OF_MEMORY: return "CUDA_ERROR_OUT_OF_MEMORY";
        case NO_DEVICE: return "CUDA_ERROR_NO_DEVICE";
        case LAUNCH_FAILED: return "CUDA_ERROR_LAUNCH_FAILED";
        default: return "CUDA_ERROR_UNKNOWN";
    }
}

}  // namespace

#define DRIVER_API extern "C" EMULATOR_API int

DRIVER_API cuInit(unsigned) {
    const std::lock_guard lock(state().lock);
    if (const auto refused = setting("init", SUCCESS)) return static_cast<int>(refused);
    if (setting("devices", 1) == 0) return NO_DEVICE;
    state().initialised = true;
    return SUCCESS;
}

DRIVER_API cuDriverGetVersion(int *version) {
    *version = static_cast<int>(setting("driver", 13000));
    return SUCCESS;
}

DRIVER_API cuGetErrorString(int error, const char **text) {
    const bool stopped = error == LAUNCH_FAILED && !state().reason.empty();
    *text = stopped ? state().reason.c_str() : name_of(error);
    return SUCCESS;
}

DRIVER_API cuDeviceGetCount(int *count) {
    *count = static_cast<int>(setting("devices", 1));
    return SUCCESS;
}

DRIVER_API cuDeviceGet(int *device, int ordinal) {
    if (!state().initialised) return NOT_INITIALIZED;
    if (ordinal < 0 || static_cast<unsigned long long>(ordinal) >= setting("devices", 1)) return INVALID_DEVICE;
    *device = ordinal;
    return SUCCESS;
}

DRIVER_API cuDeviceGetName(char *name, int room, int) {
    std::snprintf(name, static_cast<size_t>(room), "Emulated device");
    return SUCCESS;
}

DRIVER_API cuDeviceTotalMem_v2(size_t *bytes, int) {
    *bytes = setting("memory", 1ull << 34);
    return SUCCESS;
}

DRIVER_API cuDeviceGetAttribute(int *value, int attribute, int) {
    const int capability = static_cast<int>(setting("capability", 90));
    switch (attribute) {
        case CAPABILITY_MAJOR: *value = capability / 10; return SUCCESS;
        case CAPABILITY_MINOR: *value = capability % 10; return SUCCESS;
        case MEMORY_POOLS_SUPPORTED: *value = 1; return SUCCESS;
        default: return INVALID_VALUE;
    }
}

DRIVER_API cuDevicePrimaryCtxRetain(void **context, int) {
    if (!state().initialised) return NOT_INITIALIZED;
    *context = &state().context;
    return SUCCESS;
}

DRIVER_API cuDevicePrimaryCtxRelease_v2(int) { return SUCCESS; }

DRIVER_API cuCtxGetCurrent(void **context) {
    *context = current_context;
    return SUCCESS;
}

DRIVER_API cuCtxSetCurrent(void *context) {
    if (context != nullptr && context != &state().context) return INVALID_CONTEXT;
    current_context = context;
    return SUCCESS;
}

DRIVER_API cuStreamSynchronize(void *) {
    const std::lock_guard lock(state().lock);
    return usable();
}

DRIVER_API cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
    const std::lock_guard lock(state().lock);
    return allocate(address, bytes);
}

DRIVER_API cuMemAllocAsync(unsigned long long *address, size_t bytes, void *) { return cuMemAlloc_v2(address, bytes); }

DRIVER_API cuMemFree_v2(unsigned long long address) {
    const std::lock_guard lock(state().lock);
    return release(address);
}

DRIVER_API cuMemFreeAsync(unsigned long long address, void *) { return cuMemFree_v2(address); }

DRIVER_API cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *) {
    const std::lock_guard lock(state().lock);
    if (const Result result = usable()) return result;
    if (!within(to, bytes)) return INVALID_VALUE;
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return SUCCESS;
}

DRIVER_API cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *) {
    const std::lock_guard lock(state().lock);
    if (const Result result = usable()) return result;
    if (!within(from, bytes)) return INVALID_VALUE;
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return SUCCESS;
}

DRIVER_API cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void *) {
    const std::lock_guard lock(state().lock);
    if (const Result result = usable()) return result;
    if (!within(from, bytes) || !within(to, bytes)) return INVALID_VALUE;
    std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
    return SUCCESS;
}

DRIVER_API cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, void *) {
    const std::lock_guard lock(state().lock);
    if (const Result result = usable()) return result;
    if (!within(to, bytes)) return INVALID_VALUE;
    std::memset(reinterpret_cast<void *>(to), value, bytes);
    return SUCCESS;
}

DRIVER_API cuModuleLoadData(void **module, const void *image) {
    const std::lock_guard lock(state().lock);
    if (const Result result = usable()) return result;
    const std::string text(static_cast<const char *>(image));
    std::smatch target;
    if (!std::regex_search(text, target, std::regex("\\.target sm_(\\d+)"))) return INVALID_PTX;
    if (std::stoull(target[1]) > setting("capability", 90)) return NO_BINARY_FOR_GPU;
    *module = read_ptx(text).release();
    return SUCCESS;
}

DRIVER_API cuModuleUnload(void *module) {
    delete static_cast<Module *>(module);
    return SUCCESS;
}

DRIVER_API cuModuleGetFunction(void **function, void *module, const char *name) {
    const std::lock_guard lock(state().lock);
    const auto &functions = static_cast<Module *>(module)->functions;
    const auto found = functions.find(name);
    if (found == functions.end()) return NOT_FOUND;
    if (!is_of_source(*found->second)) {
        std::fprintf(stderr, "stand-in driver: PTX and source of %s do not have the same parameters\n", name);
        return INVALID_PTX;
    }
    *function = found->second.get();
    return SUCCESS;
}

DRIVER_API cuFuncSetAttribute(void *function, int attribute, int value) {
    const bool known = attribute == MAX_DYNAMIC_SHARED_SIZE_BYTES;
    if (!known || value < 0 || static_cast<unsigned>(value) > SHARED_MAX) return INVALID_VALUE;
    static_cast<Function *>(function)->shared_max = static_cast<unsigned>(value);
    return SUCCESS;
}

DRIVER_API cuLaunchKernel(void *handle, unsigned x, unsigned y, unsigned z, unsigned width, unsigned height,
                          unsigned depth, unsigned shared_bytes, void *, void **arguments, void **) {
    const std::lock_guard lock(state().lock);
    if (const Result result = usable()) return result;
    const auto &function = *static_cast<Function *>(handle);
    if (x == 0 || y == 0 || z == 0 || y > GRID_Y_MAX || z > GRID_Y_MAX) return INVALID_VALUE;
    if (width * height * depth == 0 || width * height * depth > THREADS_MAX) return INVALID_VALUE;
    if (shared_bytes > function.shared_max) return LAUNCH_OUT_OF_RESOURCES;
    EmulatorLaunch launch = {};
    launch.name = function.name.c_str();
    const unsigned grid[] = {x, y, z}, block[] = {width, height, depth};
    std::memcpy(launch.grid, grid, sizeof grid);
    std::memcpy(launch.block, block, sizeof block);
    launch.shared_bytes = shared_bytes;
    launch.order = static_cast<unsigned>(setting("order", 0));
    launch.seed = setting("seed", 0);
    launch.arguments = arguments;
    launch.argument_count = static_cast<unsigned>(function.sizes.size());
    char reason[512];
    if (emulator_launch(&launch, reason, sizeof reason) == 0) return SUCCESS;
    state().reason = reason;
    state().poisoned = LAUNCH_FAILED;
    return LAUNCH_FAILED;
}

DRIVER_API cuEventCreate(void **event, unsigned) {
    *event = new Event();
    return SUCCESS;
}

DRIVER_API cuEventDestroy_v2(void *event) {
    delete static_cast<Event *>(event);
    return SUCCESS;
}

DRIVER_API cuEventRecord(void *event, void *) {
    static_cast<Event *>(event)->at = std::chrono::steady_clock::now();
    return cuStreamSynchronize(nullptr);
}

DRIVER_API cuEventSynchronize(void *) { return cuStreamSynchronize(nullptr); }

DRIVER_API cuEventElapsedTime_v2(float *milliseconds, void *first, void *last) {
    const auto elapsed = static_cast<Event *>(last)->at - static_cast<Event *>(first)->at;
    *milliseconds = std::chrono::duration<float, std::milli>(elapsed).count();
    return SUCCESS;
}
