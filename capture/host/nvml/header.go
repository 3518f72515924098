package nvml

import "embed"

// Header is helper/nvml.h, the library's interface as far as it is used, for stand-ins to be built with.
//
//go:embed helper/nvml.h
var Header embed.FS
