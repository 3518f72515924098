package event

import "strings"

// plumbing are the libraries that a program's own code calls for the GPU, or waits in.
var plumbing = func() []string {
	list := []string{"libcud", "libc.so", "libpthread", "ld-linux"}
	for _, l := range Libraries() {
		list = append(list, l.Library)
	}
	return list
}()

// Site is the frame of a program's own code that a call comes from: the innermost of
// Python, or else the innermost with a name that is in no library of CUDA's or C's. nil
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
