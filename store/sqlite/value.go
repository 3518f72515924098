package sqlite

import (
	"encoding/hex"
	"math"
)

// JSONValue is a value of a row as JSON can hold it: blobs in hexadecimal, infinities as
// null.
func JSONValue(v any) any {
	switch v := v.(type) {
	case []byte:
		return hex.EncodeToString(v)
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil
		}
	}
	return v
}
