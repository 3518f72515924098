package event

import "strings"

// plumbing are the libraries that a program calls to use the GPU, or waits in.
var plumbing = []string{"libcud", "libnccl", "libc.so", "libpthread", "ld-linux"}

// Site is the frame in the program's own code that made a call: the innermost Python
// frame, or else the innermost named frame outside of CUDA's and C's libraries. nil
// if there is none.
func Site(frames []Frame) *Frame {
	var native *Frame
	for i := range frames {
		f := &frames[i]
		if f.Symbol == "" {
			continue
		}
		if f.Kind == FramePython {
			return f
		}
		if native == nil && f.Kind == FrameNative && !inPlumbing(f.Module) {
			native = f
		}
	}
	return native
}

func inPlumbing(module string) bool {
	for _, p := range plumbing {
		if strings.HasPrefix(module, p) {
			return true
		}
	}
	return false
}
