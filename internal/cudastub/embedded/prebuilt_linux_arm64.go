package embedded

import "embed"

//go:embed prebuilt/linux_arm64
var prebuilt embed.FS

const prebuiltRoot = "prebuilt/linux_arm64"
