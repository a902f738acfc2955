package v1

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	dnsLabel     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	dnsSubdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	labelName    = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
)

const (
	nameRemedy  = "use at most 63 lower-case letters, digits and '-', with a letter or digit at both ends"
	labelRemedy = "use at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"
)

// maxAnnotations is how many bytes all annotations of an object may have together.
const maxAnnotations = 64 << 10

func (v *validator) metadata(m *ObjectMeta, namespaced bool) {
	if v.must(m.Name != "", "metadata.name", "missing", "name the object") {
		v.must(dnsLabel.MatchString(m.Name), "metadata.name", fmt.Sprintf("%q is not a name", m.Name), nameRemedy)
	}
	switch {
	case !namespaced:
		v.must(m.Namespace == "", "metadata.namespace", "objects of this kind have no namespace", "remove it")
	default:
		v.must(dnsLabel.MatchString(m.Namespace), "metadata.namespace", fmt.Sprintf("%q is not a namespace", m.Namespace), nameRemedy)
	}
	v.labels("metadata.labels", m.Labels)
	size := 0
	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		size += len(key) + len(m.Annotations[key])
		v.labelKey(FieldKey("metadata.annotations", key), key)
	}
	v.must(size <= maxAnnotations, "metadata.annotations", fmt.Sprintf("the annotations have %d bytes", size),
		fmt.Sprintf("keep them within %d", maxAnnotations))
}

func (v *validator) labels(field string, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at, value := FieldKey(field, key), labels[key]
		v.labelKey(at, key)
		v.must(value == "" || labelName.MatchString(value), at, fmt.Sprintf("%q is not a label's value", value), labelRemedy)
	}
}

// labelKey wants a name with an optional DNS domain before it: "app", "example.com/app".
func (v *validator) labelKey(field, key string) {
	domain, name, has := strings.Cut(key, "/")
	if !has {
		domain, name = "", key
	}
	ok := labelName.MatchString(name) && (!has || len(domain) <= 253 && dnsSubdomain.MatchString(domain))
	v.must(ok, field, fmt.Sprintf("%q is not a key", key), labelRemedy+", and before it an optional domain and '/'")
}
