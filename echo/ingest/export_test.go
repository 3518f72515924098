package ingest

// Reasonable is reasonable, for metrics in protobuf.
func Reasonable(body []byte) error { return reasonable(inMetrics, false, body) }
