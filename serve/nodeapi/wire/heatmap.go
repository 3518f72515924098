package wire

// Heatmap counts the calls of an operation by time and duration. Row r counts calls that took more
// than 2^((r-1)/4) ns and at most 2^(r/4); row 0 those of up to 1 ns.
type Heatmap struct {
	About
	Op       string   `json:"op"`
	Ops      []string `json:"ops"` // in the window, most time first
	StartNS  uint64   `json:"start_ns"`
	ColumnNS uint64   `json:"column_ns"`
	Columns  int      `json:"columns"`
	Exact    bool     `json:"exact"` // every call is counted, else stored ones with their weights
	Calls    uint64   `json:"calls"`
	Cells    []uint64 `json:"cells"` // column, row, calls; column, row, calls; …
}
