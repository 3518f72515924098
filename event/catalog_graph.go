package event

// graphOps are functions of the CUDA runtime that make and launch graphs.
var graphOps = []Info{
	{
		Op: op(SourceGraph, 1), Name: "cudaStreamBeginCapture", Role: RoleCapture, Args: []Arg{argStream, argMode},
		Symbols: perStream("cudaStreamBeginCapture"),
		Doc:     "Begins to record a stream's work in a graph instead of doing it.",
	},
	{
		Op: op(SourceGraph, 2), Name: "cudaStreamEndCapture", Shape: ShapeEndCapture, Role: RoleCapture,
		Args:    []Arg{argStream, argEnded},
		Symbols: perStream("cudaStreamEndCapture"),
		Doc:     "Ends the recording and returns the graph.",
	},
	{
		Op: op(SourceGraph, 3), Name: "cudaGraphInstantiate", Shape: ShapeCreate, Role: RoleCapture,
		Args: []Arg{argMade, argGraph},
		Symbols: []string{
			"cudaGraphInstantiate", "cudaGraphInstantiateWithFlags", "cudaGraphInstantiateWithParams",
			"cudaGraphInstantiateWithParams_ptsz",
		},
		Doc: "Makes a graph executable; dear, and meant to be done once.",
	},
	{
		Op: op(SourceGraph, 4), Name: "cudaGraphLaunch", Role: RoleLaunch, Args: []Arg{argExec, argStream},
		Symbols: perStream("cudaGraphLaunch"),
		Doc:     "Queues all of a graph's work.",
	},
	{
		Op: op(SourceGraph, 5), Name: "cudaGraphExecUpdate", Role: RoleCapture, Args: []Arg{argExec, argGraph},
		Doc: "Gives an executable graph the parameters of another graph.",
	},
	{Op: op(SourceGraph, 6), Name: "cudaGraphDestroy", Args: []Arg{argGraph}, Doc: "Frees a graph."},
	{Op: op(SourceGraph, 7), Name: "cudaGraphExecDestroy", Args: []Arg{argExec}, Doc: "Frees an executable graph."},
	{
		Op: op(SourceGraph, 8), Name: "cudaGraphUpload", Role: RoleCapture, Args: []Arg{argExec, argStream},
		Symbols: perStream("cudaGraphUpload"),
		Doc:     "Brings an executable graph to the device before its first launch.",
	},
	{
		Op: op(SourceGraph, 9), Name: "cudaStreamBeginCaptureToGraph", Shape: ShapeCaptureTo, Role: RoleCapture,
		Args:    []Arg{argStream, argMode, argGraph},
		Symbols: perStream("cudaStreamBeginCaptureToGraph"),
		Doc:     "Begins to record a stream's work behind what is in a graph already.",
	},
	{
		Op: op(SourceGraph, 10), Name: "cudaStreamIsCapturing", Shape: ShapeStatus,
		Args:    []Arg{argStream, argStatus},
		Symbols: perStream("cudaStreamIsCapturing"),
		Doc:     "Asks whether a stream's work is recorded.",
	},
	{
		Op: op(SourceGraph, 11), Name: "cudaStreamGetCaptureInfo", Shape: ShapeStatus,
		Args: []Arg{argStream, argStatus},
		Symbols: []string{
			"cudaStreamGetCaptureInfo", "cudaStreamGetCaptureInfo_ptsz", "cudaStreamGetCaptureInfo_v2",
			"cudaStreamGetCaptureInfo_v2_ptsz", "cudaStreamGetCaptureInfo_v3",
			"cudaStreamGetCaptureInfo_v3_ptsz",
		},
		Doc: "Asks whether a stream's work is recorded, and in which graph.",
	},
	{
		Op: op(SourceGraph, 12), Name: "cudaStreamBeginRecaptureToGraph", Seldom: true, Role: RoleCapture,
		Args:    []Arg{argStream, argMode, argGraph},
		Symbols: perStream("cudaStreamBeginRecaptureToGraph"),
		Doc:     "Begins to record a stream's work anew in a graph that was recorded before.",
	},
}
