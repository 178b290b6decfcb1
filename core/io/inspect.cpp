#include "core/io/inspect.h"
namespace vitrine {
InspectReport inspect_model(const std::filesystem::path&) { return {}; }
}  // namespace vitrine
