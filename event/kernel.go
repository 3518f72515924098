package event

import "strings"

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

// GraphStep is what an operation does to a CUDA graph, as the name without the API's
// prefix: "GraphLaunch" for cudaGraphLaunch and cuGraphLaunch. "" for operations that
// are not on graphs.
func (o Op) GraphStep() string { return graphSteps[o] }

var graphSteps = func() map[Op]string {
	steps := map[Op]string{}
	for i := range Catalog {
		verb, ok := strings.CutPrefix(Catalog[i].Name, "cuda")
		if !ok {
			verb, ok = strings.CutPrefix(Catalog[i].Name, "cu")
		}
		if ok && (strings.HasPrefix(verb, "Graph") || strings.Contains(verb, "aptur")) {
			steps[Catalog[i].Op] = verb
		}
	}
	return steps
}()
