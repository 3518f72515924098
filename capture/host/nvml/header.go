package nvml

import "embed"

// Header is helper/nvml.h, the used part of the library's interface, for building stand-ins.
//
//go:embed helper/nvml.h
var Header embed.FS
