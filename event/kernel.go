package event

// LaunchesKernel reports whether a call of the operation names the GPU kernel that
// it starts: its first argument is then the kernel's function.
func (o Op) LaunchesKernel() bool {
	i := o.Info()
	if i == nil {
		return false
	}
	switch i.Shape {
	case ShapeLaunch, ShapeLaunchConfig, ShapeCuLaunch, ShapeCuConfig:
		return true
	}
	return false
}
