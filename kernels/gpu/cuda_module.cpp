#include "kernels/gpu/cuda_module.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>

namespace vitrine {
namespace {

constexpr const char* kFile = "libvitrine_cuda.so";

std::filesystem::path program_folder() {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    return error ? std::filesystem::path() : program.parent_path();
}

Result<const CudaModuleApi*> load() {
    const auto unusable = [](const std::string& reason) {
        return Error{ErrorKind::Unsupported, "No GPU is used: " + reason};
    };
    std::string found;
    std::error_code ignored;
    for (const std::string& place : cuda_module_places())
        if (found.empty() && std::filesystem::exists(place, ignored)) found = place;
    if (found.empty())
        return unusable(
            "there is no CUDA module (" + std::string(kFile) +
            "). Installed packages of Vitrine have it in vitrine-cuda; a build makes it where the CUDA "
            "compiler is installed.");
    // Never closed: devices and weights of the module may live until the program ends.
    void* handle = dlopen(found.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* reason = dlerror();
        return unusable("the CUDA module cannot be loaded: " + std::string(reason == nullptr ? "?" : reason) +
                        ".");
    }
    using Entry = const CudaModuleApi* (*)();
    Entry entry = nullptr;
    void* symbol = dlsym(handle, kCudaEntry);
    std::memcpy(&entry, &symbol, sizeof entry);
    const CudaModuleApi* api = entry == nullptr ? nullptr : entry();
    if (api == nullptr || api->build == nullptr || std::strcmp(api->build, kCudaBuild) != 0)
        return unusable("the CUDA module " + found +
                        " is of another version than the program; install both together.");
    return api;
}

const Result<const CudaModuleApi*>& module() {
    static const Result<const CudaModuleApi*> loaded = load();
    return loaded;
}

}  // namespace

std::vector<std::string> cuda_module_places() {
    if (const char* named = std::getenv("VITRINE_CUDA_MODULE"); named != nullptr && *named != '\0')
        return {named};
    std::vector<std::string> places;
    const std::filesystem::path folder = program_folder();
    if (folder.empty()) return places;
    for (const char* beside : {"", "../lib/vitrine", "../lib"})
        places.push_back((folder / beside / kFile).lexically_normal().string());
    return places;
}

Result<std::vector<GpuInfo>> cuda_gpus() {
    if (!module().ok()) return module().error();
    return (*module())->gpus();
}

Result<std::unique_ptr<Device>> make_cuda_device(int index, bool plain) {
    if (!module().ok()) return module().error();
    return (*module())->open(index, plain);
}

Result<const CudaTestHooks*> cuda_test_hooks() {
    if (!module().ok()) return module().error();
    return &(*module())->hooks;
}

}  // namespace vitrine
