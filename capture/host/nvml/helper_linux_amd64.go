package nvml

import _ "embed"

// program is helper/helper.c, made by build.sh.
//
//go:embed prebuilt/helper_amd64
var program []byte
