package llama

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
)

// Shape is the size of a model. The zero value is not usable; tests use Tiny.
type Shape struct {
	Layers, Embedding, Heads, FeedForward, Vocabulary, Context int
}

// Tiny is a model of 8 layers and 8 MB: some 190 kernels for each token.
var Tiny = Shape{Layers: 8, Embedding: 256, Heads: 4, FeedForward: 768, Vocabulary: 2048, Context: 512}

// The types of GGUF's values and tensors that are used here (the format's specification: ggml,
// docs/gguf.md).
const (
	ggufUint32  = 4
	ggufFloat32 = 6
	ggufString  = 8

	tensorF32  = 0
	tensorQ8   = 8 // Q8_0: blocks of 32 values, an f16 scale and 32 int8
	blockBytes = 34
	blockLen   = 32

	ggufAlignment = 32
)

type tensor struct {
	name string
	dims []int // the first varies fastest
	kind uint32
}

// bytes is the tensor's size in the file.
func (t *tensor) bytes() int {
	n := 1
	for _, d := range t.dims {
		n *= d
	}
	if t.kind == tensorQ8 {
		return n / blockLen * blockBytes
	}
	return 4 * n
}

// tensors are the tensors of the architecture "llama".
func (s Shape) tensors() []tensor {
	norm := func(name string) tensor { return tensor{name, []int{s.Embedding}, tensorF32} }
	matrix := func(name string, in, out int) tensor { return tensor{name, []int{in, out}, tensorQ8} }
	list := []tensor{
		matrix("token_embd.weight", s.Embedding, s.Vocabulary),
		norm("output_norm.weight"),
		matrix("output.weight", s.Embedding, s.Vocabulary),
	}
	for i := range s.Layers {
		at := func(name string) string { return fmt.Sprintf("blk.%d.%s.weight", i, name) }
		list = append(list,
			norm(at("attn_norm")),
			matrix(at("attn_q"), s.Embedding, s.Embedding),
			matrix(at("attn_k"), s.Embedding, s.Embedding),
			matrix(at("attn_v"), s.Embedding, s.Embedding),
			matrix(at("attn_output"), s.Embedding, s.Embedding),
			norm(at("ffn_norm")),
			matrix(at("ffn_gate"), s.Embedding, s.FeedForward),
			matrix(at("ffn_down"), s.FeedForward, s.Embedding),
			matrix(at("ffn_up"), s.Embedding, s.FeedForward),
		)
	}
	return list
}

// WriteModel writes a model with random weights in the GGUF format, version 3, without a tokenizer.
// The same shape and seed give the same file.
func WriteModel(path string, s Shape, seed uint64) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write a model: %w", err)
	}
	defer func() {
		if e := f.Close(); err == nil && e != nil {
			err = fmt.Errorf("write a model: %w", e)
		}
	}()
	w := &ggufWriter{w: bufio.NewWriterSize(f, 1<<20)}
	tensors := s.tensors()
	w.head(s, tensors)
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range tensors {
		w.pad()
		w.data(&tensors[i], rng)
	}
	if w.err == nil {
		w.err = w.w.Flush()
	}
	if w.err != nil {
		return fmt.Errorf("write a model: %w", w.err)
	}
	return nil
}

// ggufWriter keeps the first error and the position in the file.
type ggufWriter struct {
	w   *bufio.Writer
	at  int
	err error
}

func (w *ggufWriter) put(v any) {
	if w.err == nil {
		w.err = binary.Write(w.w, binary.LittleEndian, v)
		w.at += binary.Size(v)
	}
}

func (w *ggufWriter) writeText(s string) {
	w.put(uint64(len(s)))
	w.put([]byte(s))
}

// pad writes zeros up to the next position at which a tensor may begin.
func (w *ggufWriter) pad() { w.put(make([]byte, (ggufAlignment-w.at%ggufAlignment)%ggufAlignment)) }

// head writes everything before the tensors' data.
func (w *ggufWriter) head(s Shape, tensors []tensor) {
	values := []struct {
		key   string
		value any
	}{
		{"general.architecture", "llama"},
		{"general.name", "hollow"},
		{"llama.context_length", uint32(s.Context)},
		{"llama.embedding_length", uint32(s.Embedding)},
		{"llama.block_count", uint32(s.Layers)},
		{"llama.feed_forward_length", uint32(s.FeedForward)},
		{"llama.attention.head_count", uint32(s.Heads)},
		{"llama.attention.head_count_kv", uint32(s.Heads)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)},
		{"llama.rope.dimension_count", uint32(s.Embedding / s.Heads)},
		{"llama.vocab_size", uint32(s.Vocabulary)},
		{"tokenizer.ggml.model", "no_vocab"},
	}
	w.put([]byte("GGUF"))
	w.put(uint32(3))
	w.put(uint64(len(tensors)))
	w.put(uint64(len(values)))
	for _, v := range values {
		w.writeText(v.key)
		switch x := v.value.(type) {
		case string:
			w.put(uint32(ggufString))
			w.writeText(x)
		case uint32:
			w.put(uint32(ggufUint32))
			w.put(x)
		case float32:
			w.put(uint32(ggufFloat32))
			w.put(x)
		}
	}
	offset := 0
	for i := range tensors {
		t := &tensors[i]
		w.writeText(t.name)
		w.put(uint32(len(t.dims)))
		for _, d := range t.dims {
			w.put(uint64(d))
		}
		w.put(t.kind)
		w.put(uint64(offset))
		offset += (t.bytes() + ggufAlignment - 1) / ggufAlignment * ggufAlignment
	}
}

// data writes weights that can be multiplied safely: none is infinite or NaN.
func (w *ggufWriter) data(t *tensor, rng *rand.Rand) {
	if w.err != nil {
		return
	}
	b := make([]byte, t.bytes())
	if t.kind == tensorF32 {
		for i := 0; i < len(b); i += 4 {
			b[i+2], b[i+3] = 0x80, 0x3f // 1.0
		}
	} else {
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		for i := 0; i < len(b); i += blockBytes {
			b[i], b[i+1] = 0x66, 0x1c // the scale, about 0.004
		}
	}
	_, w.err = io.Writer(w.w).Write(b)
	w.at += len(b)
}
