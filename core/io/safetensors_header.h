// The JSON header of a safetensors file, read event by event so that no number passes through a double and no
// key is lost. Internal to core/io.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/io/safetensors_file.h"

namespace vitrine {

// Fills names, dtypes, shapes and offsets (as stored) of `out`. BadFile.
Status read_safetensors_header(std::string_view json, SafetensorsContent& out);

}  // namespace vitrine
