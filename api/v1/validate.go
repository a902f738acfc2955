package v1

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Validate lists what is wrong with an object whose defaults are set; none means it may be stored. It looks at the object alone:
// the rules across objects are the registry's.
func Validate(o Object) []FieldError {
	v := &validator{}
	if meta := o.GetTypeMeta(); meta.APIVersion != APIVersion {
		v.add("apiVersion", fmt.Sprintf("%q is not a version that this server speaks", meta.APIVersion), "write "+APIVersion)
	}
	switch o := o.(type) {
	case *VirtualMachine:
		v.metadata(&o.Metadata, true)
		v.vm(&o.Spec)
		v.text(reflect.ValueOf(o.Spec), "spec")
	case *Host:
		v.metadata(&o.Metadata, false)
		v.host(&o.Spec)
		v.text(reflect.ValueOf(o.Spec), "spec")
	case *ClusterConfig:
		v.metadata(&o.Metadata, false)
		if o.Metadata.Name != ClusterConfigName {
			v.add("metadata.name", fmt.Sprintf("there is one ClusterConfig, and it is not named %q", o.Metadata.Name), "write name: "+ClusterConfigName)
		}
		v.config(&o.Spec)
		v.text(reflect.ValueOf(o.Spec), "spec")
	default:
		v.add("kind", fmt.Sprintf("%q objects are not written by users", o.GetTypeMeta().Kind), "")
	}
	return v.errs
}

// validator collects what is wrong.
type validator struct{ errs []FieldError }

func (v *validator) add(field, problem, remedy string) {
	v.errs = append(v.errs, FieldError{Field: field, Problem: problem, Remedy: remedy})
}

// must adds an error unless ok, and returns ok.
func (v *validator) must(ok bool, field, problem, remedy string) bool {
	if !ok {
		v.add(field, problem, remedy)
	}
	return ok
}

// enum wants one of a few words; an empty one is a default that is not set yet, and fine.
func (v *validator) enum(field, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		v.add(field, fmt.Sprintf("%q is not possible here", value), oneOf(value, allowed))
	}
}

// number wants one between two bounds.
func (v *validator) number(field string, n, least, most int) bool {
	return v.must(n >= least && n <= most, field, fmt.Sprintf("%d is out of range", n), fmt.Sprintf("choose between %d and %d", least, most))
}

// count wants one between 1 and a bound; zero is a default that comes later.
func (v *validator) count(field string, n, most int) bool {
	return n == 0 || v.number(field, n, 1, most)
}

// duration wants one that is not negative and not absurd.
func (v *validator) duration(field string, d Duration) {
	v.must(d >= 0 && d <= maxDuration, field, fmt.Sprintf("%s is out of range", d), "choose at most "+maxDuration.String())
}

// maxDuration of anything that Holdfast waits for.
const maxDuration = Duration(24 * 3600 * 1e9)

// absolute wants the absolute path of a file on a host.
func (v *validator) absolute(field, path string) {
	switch {
	case !strings.HasPrefix(path, "/"):
		v.add(field, fmt.Sprintf("%q is not an absolute path", path), "begin it with /, as the host sees the file")
	case strings.HasSuffix(path, "/"):
		v.add(field, fmt.Sprintf("%q is a directory", path), "name the file in it")
	case len(path) > 4095:
		v.add(field, "the path is longer than 4095 characters", "")
	}
}

// multiline are the fields whose text may have several lines.
var multiline = []string{"spec.template.cloudInit.userData", "spec.template.cloudInit.networkData"}

// text wants no text in which characters hide that libvirt's XML cannot carry or that people cannot see.
func (v *validator) text(x reflect.Value, path string) {
	switch x.Kind() {
	case reflect.Pointer:
		if !x.IsNil() {
			v.text(x.Elem(), path)
		}
	case reflect.Struct:
		for i, f := range reflect.VisibleFields(x.Type()) {
			v.text(x.Field(i), join(path, fieldName(f)))
		}
	case reflect.Slice:
		for i := range x.Len() {
			v.text(x.Index(i), FieldIndex(path, i))
		}
	case reflect.String:
		if i := strings.IndexFunc(x.String(), func(r rune) bool { return hidden(r, slices.Contains(multiline, path)) }); i >= 0 {
			r, _ := utf8.DecodeRuneInString(x.String()[i:])
			v.add(path, fmt.Sprintf("the character U+%04X is not possible here", r), "remove it")
		}
	}
}

func hidden(r rune, multiline bool) bool {
	switch r {
	case '\t', '\n', '\r':
		return !multiline
	case utf8.RuneError, 0xFFFE, 0xFFFF, 0x7F:
		return true
	}
	return r < ' '
}
