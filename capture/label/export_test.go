package label

// For tests.
var (
	Usual   = usual
	AnyLine = anyLine
)
