// Package rawcodec makes gRPC pass messages on as bytes: package wire encodes and parses them itself.
package rawcodec

import (
	"fmt"

	"google.golang.org/grpc/mem"
)

// Codec is for messages of the type *[]byte.
type Codec struct{}

// Marshal implements encoding.CodecV2.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("send a %T: only bytes can be sent", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("receive a %T: only bytes can be received", v)
	}
	*b = data.Materialize()
	return nil
}

// Name implements encoding.CodecV2. The bytes are in the format of protocol buffers.
func (Codec) Name() string { return "proto" }
