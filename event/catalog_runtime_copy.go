package event

// runtimeCopies are functions of the CUDA runtime that move or fill memory in less usual ways.
var runtimeCopies = []Info{
	{
		Op: op(SourceCUDA, 34), Name: "cudaMemcpy3D", Seldom: true, Shape: ShapeCopy3D, Role: RoleCopy, Args: argsCopy,
		Symbols: perDefault("cudaMemcpy3D"),
		Doc:     "Copies a block and waits for it; bytes are elements where it is an array.",
	},
	{
		Op: op(SourceCUDA, 35), Name: "cudaMemcpy3DAsync", Shape: ShapeCopy3D, Role: RoleCopy, Args: argsCopy,
		Symbols: perStream("cudaMemcpy3DAsync"),
		Doc:     "Queues the copy of a block.",
	},
	{
		Op: op(SourceCUDA, 36), Name: "cudaMemcpy3DPeer", Role: RoleCopy, Seldom: true,
		Symbols: perDefault("cudaMemcpy3DPeer"),
		Doc:     "Copies a block between two devices.",
	},
	{
		Op: op(SourceCUDA, 37), Name: "cudaMemcpy3DPeerAsync", Role: RoleCopy, Seldom: true,
		Symbols: perStream("cudaMemcpy3DPeerAsync"),
		Doc:     "Queues the copy of a block between two devices.",
	},
	{
		Op: op(SourceCUDA, 38), Name: "cudaMemcpyToSymbol", Shape: ShapeCopySymbol, Role: RoleCopy, Args: argsCopy,
		Symbols: perDefault("cudaMemcpyToSymbol"),
		Doc:     "Copies to a variable on the device, dst, and waits for it.",
	},
	{
		Op: op(SourceCUDA, 39), Name: "cudaMemcpyToSymbolAsync", Shape: ShapeCopySymbol, Role: RoleCopy,
		Args: argsCopy, Symbols: perStream("cudaMemcpyToSymbolAsync"),
		Doc: "Queues a copy to a variable on the device.",
	},
	{
		Op: op(SourceCUDA, 40), Name: "cudaMemcpyFromSymbol", Seldom: true, Shape: ShapeCopySymbol, Role: RoleCopy,
		Args:    argsCopy,
		Symbols: perDefault("cudaMemcpyFromSymbol"),
		Doc:     "Copies from a variable on the device, src, and waits for it.",
	},
	{
		Op: op(SourceCUDA, 41), Name: "cudaMemcpyFromSymbolAsync", Seldom: true, Shape: ShapeCopySymbol, Role: RoleCopy,
		Args: argsCopy, Symbols: perStream("cudaMemcpyFromSymbolAsync"),
		Doc: "Queues a copy from a variable on the device.",
	},
	{
		Op: op(SourceCUDA, 42), Name: "cudaMemcpyBatchAsync", Role: RoleCopy, Args: argsBatch,
		Symbols: []string{"cudaMemcpyBatchAsync", "cudaMemcpyBatchAsync_ptsz"},
		Doc:     "Queues several copies.",
	},
	{
		Op: op(SourceCUDA, 43), Name: "cudaMemcpy3DBatchAsync", Role: RoleCopy, Args: []Arg{argCopies}, Seldom: true,
		Symbols: perStream("cudaMemcpy3DBatchAsync"),
		Doc:     "Queues several copies of blocks.",
	},
	{
		Op: op(SourceCUDA, 44), Name: "cudaMemcpyWithAttributesAsync", Seldom: true, Shape: ShapeCuCopy, Role: RoleCopy,
		Args: argsCuCopy, Symbols: perStream("cudaMemcpyWithAttributesAsync"),
		Doc: "Queues a copy with attributes.",
	},
	{
		Op: op(SourceCUDA, 45), Name: "cudaMemcpy3DWithAttributesAsync", Role: RoleCopy, Seldom: true,
		Symbols: perStream("cudaMemcpy3DWithAttributesAsync"),
		Doc:     "Queues the copy of a block with attributes.",
	},
	{
		Op: op(SourceCUDA, 46), Name: "cudaMemcpyToArray", Role: RoleCopy, Seldom: true,
		Symbols: perDefault("cudaMemcpyToArray", "cudaMemcpy2DToArray"),
		Doc:     "Copies to an array for textures and waits for it.",
	},
	{
		Op: op(SourceCUDA, 47), Name: "cudaMemcpyToArrayAsync", Role: RoleCopy, Seldom: true,
		Symbols: perStream("cudaMemcpyToArrayAsync", "cudaMemcpy2DToArrayAsync"),
		Doc:     "Queues a copy to an array for textures.",
	},
	{
		Op: op(SourceCUDA, 48), Name: "cudaMemcpyFromArray", Role: RoleCopy, Seldom: true,
		Symbols: perDefault("cudaMemcpyFromArray", "cudaMemcpy2DFromArray"),
		Doc:     "Copies from an array for textures and waits for it.",
	},
	{
		Op: op(SourceCUDA, 49), Name: "cudaMemcpyFromArrayAsync", Role: RoleCopy, Seldom: true,
		Symbols: perStream("cudaMemcpyFromArrayAsync", "cudaMemcpy2DFromArrayAsync"),
		Doc:     "Queues a copy from an array for textures.",
	},
	{
		Op: op(SourceCUDA, 50), Name: "cudaMemcpyArrayToArray", Role: RoleCopy, Seldom: true,
		Symbols: perDefault("cudaMemcpyArrayToArray", "cudaMemcpy2DArrayToArray"),
		Doc:     "Copies between arrays for textures and waits for it.",
	},
	{
		Op: op(SourceCUDA, 51), Name: "cudaMemset2D", Seldom: true, Shape: ShapeFill2D, Role: RoleCopy, Args: argsFill,
		Symbols: perDefault("cudaMemset2D"),
		Doc:     "Fills a matrix.",
	},
	{
		Op: op(SourceCUDA, 52), Name: "cudaMemset2DAsync", Seldom: true, Shape: ShapeFill2D, Role: RoleCopy,
		Args:    argsFill,
		Symbols: perStream("cudaMemset2DAsync"),
		Doc:     "Queues the filling of a matrix.",
	},
	{
		Op: op(SourceCUDA, 53), Name: "cudaMemset3D", Role: RoleCopy, Seldom: true,
		Symbols: perDefault("cudaMemset3D"),
		Doc:     "Fills a block.",
	},
	{
		Op: op(SourceCUDA, 54), Name: "cudaMemset3DAsync", Role: RoleCopy, Seldom: true,
		Symbols: perStream("cudaMemset3DAsync"),
		Doc:     "Queues the filling of a block.",
	},
}
