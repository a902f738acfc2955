package apiserver

import (
	"fmt"
	"strings"
)

// selector chooses objects by their labels: all requirements must hold. The empty one chooses all.
type selector []requirement

// requirement is one term: the label is there (and has the value, unless any will do), or the opposite.
type requirement struct {
	key, value string
	anyValue   bool
	negated    bool
}

// parseSelector reads "a=b,c!=d,e,!f" ("==" is "="). As in Kubernetes, c!=d also chooses what has no label c.
func parseSelector(text string) (selector, error) {
	var s selector
	if strings.TrimSpace(text) == "" {
		return s, nil
	}
	for term := range strings.SplitSeq(text, ",") {
		r := requirement{}
		key, value, hasValue := strings.Cut(term, "=")
		if hasValue {
			key, r.negated = strings.CutSuffix(key, "!")
			value = strings.TrimPrefix(value, "=")
		} else {
			key, r.negated = strings.CutPrefix(strings.TrimSpace(key), "!")
			r.anyValue = true
		}
		r.key, r.value = strings.TrimSpace(key), strings.TrimSpace(value)
		if r.key == "" || strings.ContainsAny(r.key+r.value, "=!() \t") {
			return nil, fmt.Errorf("%q is not a label selector: write key=value, key!=value, key or !key, with commas between", term)
		}
		s = append(s, r)
	}
	return s, nil
}

func (s selector) matches(labels map[string]string) bool {
	for _, r := range s {
		value, present := labels[r.key]
		if holds := present && (r.anyValue || value == r.value); holds == r.negated {
			return false
		}
	}
	return true
}
