// Names of Services for the pods of a one-node cluster in tests: CoreDNS with no more plugins than that takes.
package main

import (
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/kubernetes"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
)

func init() {
	// The order in which a question passes the plugins.
	dnsserver.Directives = []string{"bind", "errors", "cache", "kubernetes", "forward"}
}

func main() {
	coremain.Run()
}
