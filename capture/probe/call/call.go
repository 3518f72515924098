// Package call holds the programs that time library calls, in one variant for
// each way of attaching. Which functions they time is the business of the
// probes (cuda, driver, …); how they are attached, of package probe.
package call

//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package call Call call.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include
//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package call Session session.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include
//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package call SessionCtx session.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -DSESSION_CTX -I../../bpf/include
