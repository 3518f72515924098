package owner

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// k8sName is what Kubernetes allows as the name of an object.
var k8sName = regexp.MustCompile(`^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$`)

func isName(s string) bool { return k8sName.MatchString(s) }

// podNames finds the names of a pod and its container in the kubelet's files on its node, below
// root: the log folders /var/log/pods/NAMESPACE_POD_UID/CONTAINER, the links
// /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log, and its own state.
func podNames(root string, o Owner) (found Owner) {
	if o.Container != "" {
		// the pattern is well-formed
		links, _ := filepath.Glob(filepath.Join(root, "var/log/containers", "*-"+o.Container+".log"))
		for _, l := range links {
			parts := strings.Split(strings.TrimSuffix(filepath.Base(l), "-"+o.Container+".log"), "_")
			if len(parts) == 3 && isName(parts[0]) && isName(parts[1]) && isName(parts[2]) {
				found.merge(Owner{Pod: parts[0], Namespace: parts[1], PodContainer: parts[2]})
			}
		}
	}
	if o.PodUID == "" {
		return found
	}
	logs, _ := filepath.Glob(filepath.Join(root, "var/log/pods", "*_"+o.PodUID)) // as above
	for _, l := range logs {
		parts := strings.Split(filepath.Base(l), "_")
		if len(parts) == 3 && isName(parts[0]) && isName(parts[1]) {
			found.merge(Owner{Namespace: parts[0], Pod: parts[1], PodContainer: only(l)})
		}
	}
	found.merge(Owner{PodContainer: only(filepath.Join(root, "var/lib/kubelet/pods", o.PodUID, "containers"))})
	return found
}

// only is the name of the single folder in dir, empty if there are none or several.
func only(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	name := ""
	for _, e := range entries {
		if !e.IsDir() || !isName(e.Name()) {
			continue
		}
		if name != "" {
			return ""
		}
		name = e.Name()
	}
	return name
}
