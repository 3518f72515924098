package event

// What a mark is recorded with: columns of nvtx_marks, not places of Args.
var (
	argDomain   = Arg{Name: "domain", Unit: UnitHandle, Doc: "domain; 0 is the default one"}
	argText     = Arg{Name: "text", Unit: UnitNone, Doc: "message"}
	argCategory = Arg{Name: "category", Unit: UnitEnum, Doc: "number of the program's own"}
	argLevel    = Arg{Name: "level", Unit: UnitCount, Doc: "answer: ranges around this one; negative: not known"}
	argRange    = Arg{Name: "range_id", Unit: UnitHandle, Doc: "range that is begun or ended"}
	markArgs    = []Arg{argDomain, argText, argCategory}
	pushArgs    = []Arg{argDomain, argText, argCategory, argLevel}
	popArgs     = []Arg{argDomain, argLevel}
	startArgs   = []Arg{argDomain, argText, argCategory, argRange}
	endArgs     = []Arg{argDomain, argRange}
)

// nvtxOps are the functions of NVTX 2 (nvToolsExt.h) that mark ranges and moments.
var nvtxOps = []Info{
	{
		Op: op(SourceNVTX, 1), Name: "nvtxMarkA", Shape: ShapeMark, Mark: MarkMoment, Args: markArgs,
		Doc: "Marks a moment.",
	},
	{
		Op: op(SourceNVTX, 2), Name: "nvtxMarkW", Shape: ShapeMarkWide, Mark: MarkMoment, Args: markArgs,
		Doc: "The same with wide characters.",
	},
	{
		Op: op(SourceNVTX, 3), Name: "nvtxMarkEx", Shape: ShapeMarkEx, Mark: MarkMoment, Args: markArgs,
		Doc: "The same with attributes, of which category and message are recorded.",
	},
	{
		Op: op(SourceNVTX, 4), Name: "nvtxRangePushA", Shape: ShapeMark, Mark: MarkPush, Args: pushArgs,
		Doc: "Begins a range of the thread.",
	},
	{
		Op: op(SourceNVTX, 5), Name: "nvtxRangePushW", Shape: ShapeMarkWide, Mark: MarkPush, Args: pushArgs,
		Doc: "The same with wide characters.",
	},
	{
		Op: op(SourceNVTX, 6), Name: "nvtxRangePushEx", Shape: ShapeMarkEx, Mark: MarkPush, Args: pushArgs,
		Doc: "The same with attributes.",
	},
	{
		Op: op(SourceNVTX, 7), Name: "nvtxRangePop", Shape: ShapeMarkEnd, Mark: MarkPop, Args: popArgs,
		Doc: "Ends the last range that the thread has pushed.",
	},
	{
		Op: op(SourceNVTX, 8), Name: "nvtxRangeStartA", Shape: ShapeMark, Mark: MarkStart, Args: startArgs,
		Doc: "Begins a range that any thread may end.",
	},
	{
		Op: op(SourceNVTX, 9), Name: "nvtxRangeStartW", Shape: ShapeMarkWide, Mark: MarkStart, Args: startArgs,
		Doc: "The same with wide characters.",
	},
	{
		Op: op(SourceNVTX, 10), Name: "nvtxRangeStartEx", Shape: ShapeMarkEx, Mark: MarkStart, Args: startArgs,
		Doc: "The same with attributes.",
	},
	{
		Op: op(SourceNVTX, 11), Name: "nvtxRangeEnd", Shape: ShapeMarkEnd, Mark: MarkEnd, Args: endArgs,
		Doc: "Ends the range of this id.",
	},
	{
		Op: op(SourceNVTX, 12), Name: "nvtxDomainMarkEx", Shape: ShapeMarkIn, Mark: MarkMoment, Args: markArgs,
		Doc: "Marks a moment, in a domain.",
	},
	{
		Op: op(SourceNVTX, 13), Name: "nvtxDomainRangePushEx", Shape: ShapeMarkIn, Mark: MarkPush, Args: pushArgs,
		Doc: "Begins a range of the thread, in a domain.",
	},
	{
		Op: op(SourceNVTX, 14), Name: "nvtxDomainRangePop", Shape: ShapeMarkEndIn, Mark: MarkPop, Args: popArgs,
		Doc: "Ends the last range that the thread has pushed in this domain.",
	},
	{
		Op: op(SourceNVTX, 15), Name: "nvtxDomainRangeStartEx", Shape: ShapeMarkIn, Mark: MarkStart, Args: startArgs,
		Doc: "Begins a range that any thread may end, in a domain.",
	},
	{
		Op: op(SourceNVTX, 16), Name: "nvtxDomainRangeEnd", Shape: ShapeMarkEndIn, Mark: MarkEnd, Args: endArgs,
		Doc: "Ends the range of this id, in a domain.",
	},
}
