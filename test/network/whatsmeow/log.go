package main

import (
	"fmt"
	"os"

	waLog "go.mau.fi/whatsmeow/util/log"
)

// toError writes errors, or everything, to the standard error. The standard output is for
// facts.
type toError struct {
	name string
	all  bool
}

func toStderr(level string) waLog.Logger {
	return toError{name: "whatsmeow", all: level == "DEBUG"}
}

func (l toError) write(level, format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s %s: %s\n", level, l.name, fmt.Sprintf(format, args...))
}

func (l toError) Errorf(format string, args ...any) { l.write("ERROR", format, args...) }
func (l toError) Warnf(format string, args ...any)  { l.write("WARN", format, args...) }

func (l toError) Infof(format string, args ...any) {
	if l.all {
		l.write("INFO", format, args...)
	}
}

func (l toError) Debugf(format string, args ...any) {
	if l.all {
		l.write("DEBUG", format, args...)
	}
}

func (l toError) Sub(name string) waLog.Logger {
	return toError{name: l.name + "/" + name, all: l.all}
}
