//go:build !linux || (!amd64 && !arm64)

package variants

import "embed"

var prebuilt embed.FS

const prebuiltRoot = ""
