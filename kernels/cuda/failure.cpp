#include "kernels/cuda/failure.h"

#include <atomic>
#include <map>
#include <mutex>

namespace vitrine::cuda {
namespace {

std::mutex mutex;
// Never destroyed: devices may be closed while the process ends.
std::map<int, Error>& lost_gpus() {
    static auto& all = *new std::map<int, Error>;
    return all;
}
std::atomic<bool> any_lost{false};
std::atomic<int> injected{0};
thread_local int current_gpu = 0;

constexpr const char* kGoOn =
    " The chats are kept; open the model again to go on on the processor. The GPU can be used again after "
    "the "
    "program was started anew.";

void lose(int index, cudaError_t code) {
    const std::scoped_lock lock(mutex);
    lost_gpus().emplace(index, Error{ErrorKind::Io, std::string("The GPU stopped working (\"") +
                                                        cudaGetErrorString(code) + "\")." + kGoOn});
    any_lost = true;
}

// What the user can do about it, where that is known.
const char* advice(cudaError_t code) {
    switch (code) {
        case cudaErrorLaunchTimeout: return " The display's watchdog ended a computation that took too long.";
        case cudaErrorECCUncorrectable:
        case cudaErrorNvlinkUncorrectable:
        case cudaErrorContained: return " Its memory or its links have a fault.";
        case cudaErrorDevicesUnavailable:
        case cudaErrorDeviceAlreadyInUse:
            return " Another program has taken it for itself; end that program and open the model again.";
        case cudaErrorNoKernelImageForDevice:
        case cudaErrorInvalidDeviceFunction:
        case cudaErrorUnsupportedPtxVersion:
        case cudaErrorInvalidPtx:
        case cudaErrorJitCompilationDisabled:
        case cudaErrorJitCompilerNotFound:
            return " This build of the program was not made for this GPU; build it on this machine, or "
                   "install "
                   "the package that names it.";
        case cudaErrorInsufficientDriver:
        case cudaErrorCallRequiresNewerDriver: return " The driver is too old; update it.";
        case cudaErrorSystemDriverMismatch:
        case cudaErrorSystemNotReady:
        case cudaErrorCompatNotSupportedOnDevice:
            return " The driver's parts do not fit together, as after an update; restart the computer.";
        case cudaErrorUnknown:
        case cudaErrorInitializationError:
        case cudaErrorOperatingSystem:
            return " After the computer slept, the driver may need a moment: open the model again; if that "
                   "does "
                   "not help, restart the computer.";
        case cudaErrorMpsConnectionFailed:
        case cudaErrorMpsRpcFailure:
        case cudaErrorMpsServerNotReady:
        case cudaErrorMpsMaxClientsReached:
        case cudaErrorMpsMaxConnectionsReached:
        case cudaErrorMpsClientTerminated: return " The machine's service that shares the GPU (MPS) refused.";
        default: return " If it happens again, restart the program; the chats are kept.";
    }
}

}  // namespace

bool is_sticky(cudaError_t code) {
    switch (code) {
        case cudaErrorIllegalAddress:
        case cudaErrorIllegalInstruction:
        case cudaErrorMisalignedAddress:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorInvalidPc:
        case cudaErrorHardwareStackError:
        case cudaErrorLaunchFailure:
        case cudaErrorLaunchTimeout:
        case cudaErrorECCUncorrectable:
        case cudaErrorNvlinkUncorrectable:
        case cudaErrorContained:
        case cudaErrorTensorMemoryLeak:
        case cudaErrorAssert:
        case cudaErrorExternalDevice:
        case cudaErrorContextIsDestroyed:
        case cudaErrorMpsClientTerminated: return true;
        default: return false;
    }
}

Error error_of(cudaError_t code, const std::string& what) {
    if (code == cudaErrorMemoryAllocation)
        return Error{ErrorKind::OutOfMemory,
                     what +
                         ": the GPU's memory is full. Choose a shorter context or a smaller model, or close "
                         "other programs that use the GPU."};
    const std::string text = what + ": the GPU reports \"" + cudaGetErrorString(code) + "\".";
    if (!is_sticky(code)) return Error{ErrorKind::Io, text + advice(code)};
    const std::string why = advice(code);
    return Error{ErrorKind::Io, text + (why.find("restart") == std::string::npos ? why : "") + kGoOn};
}

Error cuda_error(cudaError_t code, const std::string& what) {
    // A sticky error stays for the life of the process; others are taken off here.
    static_cast<void>(cudaGetLastError());
    if (is_sticky(code)) lose(current_gpu, code);
    return error_of(code, what);
}

Status state_of_gpu(int index) {
    if (!any_lost) return {};
    const std::scoped_lock lock(mutex);
    const auto found = lost_gpus().find(index);
    if (found != lost_gpus().end()) return found->second;
    return {};
}

Status use_gpu(int index) {
    current_gpu = index;
    VITRINE_CHECK(state_of_gpu(index));
    if (const cudaError_t code = cudaSetDevice(index); code != cudaSuccess)
        return cuda_error(code, "Using GPU " + std::to_string(index));
    return {};
}

void fail_step(int code) { injected = code; }

void revive_gpus() {
    const std::scoped_lock lock(mutex);
    lost_gpus().clear();
    any_lost = false;
}

cudaError_t or_injected(cudaError_t code) {
    const int instead = injected.exchange(0);
    return instead == 0 ? code : static_cast<cudaError_t>(instead);
}

}  // namespace vitrine::cuda
