//go:build !linux || (!amd64 && !arm64)

package embedded

import "embed"

var prebuilt embed.FS

const prebuiltRoot = ""
