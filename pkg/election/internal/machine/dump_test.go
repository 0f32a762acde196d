package machine

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// dump prints a value with all that it points to, including unexported fields and the spare capacity of
// slices. Two dumps differ if anybody wrote anywhere in between.
func dump(v any) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(v))
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		b.WriteByte('&')
		dumpValue(b, v.Elem())
	case reflect.Slice:
		b.WriteByte('[')
		for i := range v.Cap() {
			if i == v.Len() {
				b.WriteString(" | ")
			}
			dumpValue(b, v.Slice(0, v.Cap()).Index(i))
			b.WriteByte(' ')
		}
		b.WriteByte(']')
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			fmt.Fprintf(b, "%v/%v", v.Field(0), v.Field(1))
			return
		}
		b.WriteString(v.Type().Name() + "{")
		for i := range v.NumField() {
			b.WriteString(v.Type().Field(i).Name + ":")
			dumpValue(b, v.Field(i))
			b.WriteByte(' ')
		}
		b.WriteByte('}')
	default:
		fmt.Fprintf(b, "%v", v)
	}
}
