//go:build !linux || (!amd64 && !arm64)

package nvml

var program []byte
