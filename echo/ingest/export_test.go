package ingest

// Reasonable is reasonable, for metrics in protobuf.
func Reasonable(body []byte) error { return reasonable(inMetrics, false, body) }

// Objects is objects.
func Objects(body []byte) int { return objects(body) }
