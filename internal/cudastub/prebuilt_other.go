//go:build !linux || (!amd64 && !arm64)

package cudastub

import "embed"

var prebuilt embed.FS

const prebuiltRoot = ""
