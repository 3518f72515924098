package embedded

import "embed"

//go:embed prebuilt/linux_amd64
var prebuilt embed.FS

const prebuiltRoot = "prebuilt/linux_amd64"
