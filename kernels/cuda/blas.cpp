#include "kernels/cuda/blas.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace vitrine::cuda::blas {

std::uint32_t alignment_of(const void* w, const void* out, std::int64_t w_step_bytes,
                           std::int64_t out_step_bytes) {
    const auto bits = reinterpret_cast<std::uintptr_t>(w) | reinterpret_cast<std::uintptr_t>(out) |
                      static_cast<std::uintptr_t>(w_step_bytes) |
                      static_cast<std::uintptr_t>(out_step_bytes) | 256U;
    return static_cast<std::uint32_t>(bits & (~bits + 1));
}

}  // namespace vitrine::cuda::blas

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

namespace vitrine::cuda::blas {
namespace {

#define VITRINE_SHORT_NAME_OF(major) "libcublasLt.so." #major
#define VITRINE_NAME_OF(major) VITRINE_SHORT_NAME_OF(major)
constexpr const char* kName = VITRINE_NAME_OF(CUBLAS_VER_MAJOR);

// The functions that are used, by the library's own declarations.
struct Library {
    void* file = nullptr;
    std::string problem;
#define VITRINE_FUNCTION(name) decltype(&cublasLt##name) name = nullptr
    VITRINE_FUNCTION(Create);
    VITRINE_FUNCTION(Destroy);
    VITRINE_FUNCTION(Matmul);
    VITRINE_FUNCTION(MatrixLayoutCreate);
    VITRINE_FUNCTION(MatrixLayoutDestroy);
    VITRINE_FUNCTION(MatrixLayoutSetAttribute);
    VITRINE_FUNCTION(MatmulDescCreate);
    VITRINE_FUNCTION(MatmulDescDestroy);
    VITRINE_FUNCTION(MatmulDescSetAttribute);
    VITRINE_FUNCTION(MatmulPreferenceCreate);
    VITRINE_FUNCTION(MatmulPreferenceDestroy);
    VITRINE_FUNCTION(MatmulPreferenceSetAttribute);
    VITRINE_FUNCTION(MatmulAlgoGetHeuristic);
#undef VITRINE_FUNCTION

    Library() {
        // By its name first: as packages and the loader's settings have it; then where the toolkit lies.
        constexpr std::array kFolders = {"", "/usr/local/cuda/lib64/", "/opt/cuda/lib64/"};
        for (const char* folder : kFolders) {
            file = dlopen((std::string(folder) + kName).c_str(), RTLD_NOW | RTLD_LOCAL);
            if (file != nullptr) break;
        }
        if (file == nullptr) {
            problem = std::string("Long prompts are computed slowly on the GPU: the library ") + kName +
                      " is not installed (it comes with the CUDA toolkit).";
            return;
        }
        bool all = true;
        const auto find = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(file, name));
            all = all && function != nullptr;
        };
#define VITRINE_FUNCTION(name) find(name, "cublasLt" #name)
        VITRINE_FUNCTION(Create);
        VITRINE_FUNCTION(Destroy);
        VITRINE_FUNCTION(Matmul);
        VITRINE_FUNCTION(MatrixLayoutCreate);
        VITRINE_FUNCTION(MatrixLayoutDestroy);
        VITRINE_FUNCTION(MatrixLayoutSetAttribute);
        VITRINE_FUNCTION(MatmulDescCreate);
        VITRINE_FUNCTION(MatmulDescDestroy);
        VITRINE_FUNCTION(MatmulDescSetAttribute);
        VITRINE_FUNCTION(MatmulPreferenceCreate);
        VITRINE_FUNCTION(MatmulPreferenceDestroy);
        VITRINE_FUNCTION(MatmulPreferenceSetAttribute);
        VITRINE_FUNCTION(MatmulAlgoGetHeuristic);
#undef VITRINE_FUNCTION
        if (!all)
            problem = std::string("Long prompts are computed slowly on the GPU: the library ") + kName +
                      " lacks a function that is needed; install the one of the CUDA toolkit.";
    }
};

// Stays open until the process ends: closing it would throw away kernels that a captured graph refers to.
const Library& library() {
    static const Library one;
    return one;
}

cudaDataType_t type_of(Number n) {
    return n == Number::F16 ? CUDA_R_16F : n == Number::BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

class Layout {
  public:
    Layout(Number number, std::int32_t rows, std::int32_t cols, std::int64_t stride) {
        // The library counts by columns: a row of ours is a column of its.
        ok_ = library().MatrixLayoutCreate(&layout_, type_of(number), static_cast<std::uint64_t>(cols),
                                           static_cast<std::uint64_t>(rows), stride) == CUBLAS_STATUS_SUCCESS;
    }
    Layout(const Layout&) = delete;
    Layout& operator=(const Layout&) = delete;
    ~Layout() {
        if (layout_ != nullptr) library().MatrixLayoutDestroy(layout_);
    }
    bool ok() const { return ok_; }
    cublasLtMatrixLayout_t get() const { return layout_; }
    bool set_matrices(std::int32_t count, std::int64_t step) const {
        return library().MatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                                  sizeof count) == CUBLAS_STATUS_SUCCESS &&
               library().MatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step,
                                                  sizeof step) == CUBLAS_STATUS_SUCCESS;
    }

  private:
    cublasLtMatrixLayout_t layout_ = nullptr;
    bool ok_ = false;
};

class Plan {
  public:
    Plan(cublasLtHandle_t handle, const Product& p)
        : w_(p.in, p.rows, p.cols, p.w_stride),
          x_(p.in, p.tokens, p.cols, p.x_stride),
          out_(p.out, p.tokens, p.rows, p.out_stride) {
        const Library& l = library();
        if (l.MatmulDescCreate(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F) != CUBLAS_STATUS_SUCCESS) return;
        const cublasOperation_t transposed = CUBLAS_OP_T;
        const auto mode =
            static_cast<std::int32_t>(p.scaled ? CUBLASLT_POINTER_MODE_DEVICE : CUBLASLT_POINTER_MODE_HOST);
        if (!w_.ok() || !x_.ok() || !out_.ok() ||
            l.MatmulDescSetAttribute(desc_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed) !=
                CUBLAS_STATUS_SUCCESS ||
            l.MatmulDescSetAttribute(desc_, CUBLASLT_MATMUL_DESC_POINTER_MODE, &mode, sizeof mode) !=
                CUBLAS_STATUS_SUCCESS)
            return;
        // The steps are set at each launch; here any of the right alignment will do.
        if (p.matrices > 1 && !set_steps(p.matrices, p.w_stride * p.rows, p.rows)) return;
        cublasLtMatmulPreference_t preference = nullptr;
        if (l.MatmulPreferenceCreate(&preference) != CUBLAS_STATUS_SUCCESS) return;
        const auto set = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
            l.MatmulPreferenceSetAttribute(preference, what, &value, sizeof value);
        };
        const std::uint32_t inputs = 256;
        set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kSpace);
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.alignment);
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, inputs);
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p.alignment);
        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.alignment);
        int found = 0;
        const cublasStatus_t status = l.MatmulAlgoGetHeuristic(handle, desc_, w_.get(), x_.get(), out_.get(),
                                                               out_.get(), preference, 1, &choice_, &found);
        l.MatmulPreferenceDestroy(preference);
        ok_ = status == CUBLAS_STATUS_SUCCESS && found == 1 && choice_.state == CUBLAS_STATUS_SUCCESS;
    }
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;
    ~Plan() {
        if (desc_ != nullptr) library().MatmulDescDestroy(desc_);
    }

    bool ok() const { return ok_; }

    bool run(cublasLtHandle_t handle, const Product& p, const Operands& o, cudaStream_t stream) const {
        const float one = 1;
        const float beta = p.add ? 1.0F : 0.0F;
        if (p.matrices > 1 && !set_steps(p.matrices, o.w_step, o.out_step)) return false;
        return library().Matmul(handle, desc_, p.scaled ? o.alpha : &one, o.w, w_.get(), o.x, x_.get(),
                                p.scaled ? o.alpha + 1 : &beta, o.out, out_.get(), o.out, out_.get(),
                                &choice_.algo, o.space, kSpace, stream) == CUBLAS_STATUS_SUCCESS;
    }

  private:
    bool set_steps(std::int32_t matrices, std::int64_t w_step, std::int64_t out_step) const {
        return w_.set_matrices(matrices, w_step) && x_.set_matrices(matrices, 0) &&
               out_.set_matrices(matrices, out_step);
    }

    Layout w_, x_, out_;
    cublasLtMatmulDesc_t desc_ = nullptr;
    cublasLtMatmulHeuristicResult_t choice_{};
    bool ok_ = false;
};

// Of one device.
struct Context {
    cublasLtHandle_t handle = nullptr;
    std::map<Product, std::unique_ptr<Plan>> plans;

    Context() = default;
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context() {
        plans.clear();
        if (handle != nullptr) library().Destroy(handle);
    }
};

// Steps have any number of rows, so shapes are many; beyond this the collection begins anew.
constexpr std::size_t kMostPlans = 4096;

std::mutex mutex;
// Never destroyed: at the end of the process the driver may be gone before it.
std::map<int, Context>& contexts() {
    static auto& all = *new std::map<int, Context>;
    return all;
}

// Under the mutex. Null: no library, or no kernel for this shape.
std::pair<Context*, const Plan*> find(const Product& p) {
    if (!library().problem.empty()) return {};
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) return {};
    Context& context = contexts()[device];
    if (context.handle == nullptr && library().Create(&context.handle) != CUBLAS_STATUS_SUCCESS) return {};
    auto found = context.plans.find(p);
    if (found == context.plans.end()) {
        if (context.plans.size() >= kMostPlans) context.plans.clear();
        found = context.plans.emplace(p, std::make_unique<Plan>(context.handle, p)).first;
    }
    return {&context, found->second->ok() ? found->second.get() : nullptr};
}

}  // namespace

bool ready(const Product& product) {
    const std::lock_guard lock(mutex);
    return find(product).second != nullptr;
}

bool run(const Product& product, const Operands& operands, cudaStream_t stream) {
    const std::lock_guard lock(mutex);
    const auto [context, plan] = find(product);
    return plan != nullptr && plan->run(context->handle, product, operands, stream);
}

std::string problem() { return library().problem; }

void release() {
    const std::lock_guard lock(mutex);
    int before = 0;
    const bool known = cudaGetDevice(&before) == cudaSuccess;
    auto& all = contexts();
    while (!all.empty()) {
        static_cast<void>(cudaSetDevice(all.begin()->first));
        all.erase(all.begin());
    }
    if (known) static_cast<void>(cudaSetDevice(before));
}

std::int32_t contexts_held() {
    const std::lock_guard lock(mutex);
    return static_cast<std::int32_t>(contexts().size());
}

}  // namespace vitrine::cuda::blas

#else  // Built with a toolkit that lacks the library's declarations.

namespace vitrine::cuda::blas {

bool ready(const Product&) { return false; }
bool run(const Product&, const Operands&, cudaStream_t) { return false; }
std::string problem() {
    return "Long prompts are computed slowly on the GPU: this build of the program was made without "
           "cuBLASLt.";
}
void release() {}
std::int32_t contexts_held() { return 0; }

}  // namespace vitrine::cuda::blas

#endif
