// Command dns is CoreDNS with what a cluster's names need, and nothing else. Only tests use it.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"       // at which address it listens
	_ "github.com/coredns/coredns/plugin/errors"     // what went wrong is logged
	_ "github.com/coredns/coredns/plugin/kubernetes" // names of services and of their pods
)

func main() { coremain.Run() }
