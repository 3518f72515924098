package llama

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestTheSameSeedMakesTheSameModel(t *testing.T) {
	small := Shape{Layers: 1, Embedding: 64, Heads: 2, FeedForward: 128, Vocabulary: 96, Context: 32}
	read := func(seed uint64) []byte {
		path := filepath.Join(t.TempDir(), "model.gguf")
		if err := WriteModel(path, small, seed); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	a := read(1)
	if !bytes.Equal(a, read(1)) || bytes.Equal(a, read(2)) {
		t.Error("the seed does not decide what is in the model")
	}
	if want := 2 * small.Embedding * small.Vocabulary * blockBytes / blockLen; len(a) < want {
		t.Errorf("%d bytes, less than the embeddings alone: %d", len(a), want)
	}
}
