package thresholdextension

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/confmap"
)

// Config of the extension. The server's settings are those of all servers in the collector: endpoint, tls, auth and
// others.
type Config struct {
	ServerConfig confighttp.ServerConfig `mapstructure:",squash"`
	// Clusters are those whose pushes are accepted; empty: all.
	Clusters []string `mapstructure:"clusters"`
}

var _ component.Config = (*Config)(nil)

// Unmarshal reads a configuration. An unknown setting is an error: confmap ignores it beside a server's settings.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	known := map[string]bool{}
	settings(reflect.TypeFor[Config](), known)
	for _, name := range slices.Sorted(maps.Keys(conf.ToStringMap())) {
		if !known[name] {
			return fmt.Errorf("%s: there is no such setting", name)
		}
	}
	return conf.Unmarshal(c)
}

// settings adds the names of a struct's settings, including those of embedded structs.
func settings(of reflect.Type, known map[string]bool) {
	for f := range of.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("mapstructure"), ",")
		if options == "squash" {
			settings(f.Type, known)
		} else if name != "" {
			known[name] = true
		}
	}
}

// maxCluster bounds the name of a cluster in bytes, as a push does.
const maxCluster = 256

// Validate reports what is wrong with a configuration.
func (c *Config) Validate() error {
	if c.ServerConfig.NetAddr.Endpoint == "" {
		return errors.New("endpoint: is missing; the usual one is localhost:8080")
	}
	for i, name := range c.Clusters {
		switch {
		case strings.TrimSpace(name) == "":
			return fmt.Errorf("clusters[%d]: is empty", i)
		case len(name) > maxCluster:
			return fmt.Errorf("clusters[%d]: has %d bytes; %d at most", i, len(name), maxCluster)
		case slices.Contains(c.Clusters[:i], name):
			return fmt.Errorf("clusters[%d]: %q is there twice", i, name)
		}
	}
	return nil
}
