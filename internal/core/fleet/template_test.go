package fleet

import (
	"reflect"
	"slices"
	"testing"

	v1 "github.com/holdfast-vm/holdfast/api/v1"
)

// TestDifferencesKnowsEveryPart sets each field of a template to something else and wants its name: a field that is added to the
// template and forgotten in Differences fails here.
func TestDifferencesKnowsEveryPart(t *testing.T) {
	typ := reflect.TypeFor[v1.Template]()
	for i := range typ.NumField() {
		var a, b v1.Template
		f := reflect.ValueOf(&b).Elem().Field(i)
		switch f.Kind() {
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Int64:
			f.SetInt(1)
		case reflect.Struct:
			switch first := f.Field(0); first.Kind() {
			case reflect.Int:
				first.SetInt(1)
			case reflect.String:
				first.SetString("x")
			default:
				t.Fatalf("set %s by hand", typ.Field(i).Name)
			}
		default:
			t.Fatalf("set %s by hand", typ.Field(i).Name)
		}
		name, _, _ := cut(typ.Field(i).Tag.Get("json"))
		if got := Differences(&a, &b); !slices.Equal(got, []string{name}) {
			t.Errorf("%s differs, and what is named is %v", name, got)
		}
		if got := Differences(&b, &b); len(got) != 0 {
			t.Errorf("nothing differs, and what is named is %v", got)
		}
	}
}

func cut(tag string) (name, rest string, found bool) {
	for i := range tag {
		if tag[i] == ',' {
			return tag[:i], tag[i+1:], true
		}
	}
	return tag, "", false
}
