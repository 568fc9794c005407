package sharedfs

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// ports are those that the servers listen on.
type ports struct{ meta, chunk, client, data int }

// freePorts takes four ports that nobody listens on now.
func freePorts() (ports, error) {
	var p ports
	for _, port := range []*int{&p.meta, &p.chunk, &p.client, &p.data} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return p, err
		}
		defer l.Close() // all are held until the last is found
		*port = l.Addr().(*net.TCPAddr).Port
	}
	return p, nil
}

// configure writes what the servers need below dir.
func configure(dir string, p ports) error {
	for _, sub := range []string{"master", "chunks", "disk", "a", "b"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	lines := func(list ...string) string { return strings.Join(list, "\n") + "\n" }
	setting := func(name string, value any) string { return fmt.Sprintf("%s = %v", name, value) }
	as := []string{setting("WORKING_USER", "root"), setting("WORKING_GROUP", "root"), setting("NICE_LEVEL", 0)}
	files := map[string]string{
		"master/metadata.mfs": "MFSM NEW",
		"topology.cfg":        "",
		"exports.cfg":         "127.0.0.0/8 / rw,alldirs,admin,maproot=0:0\n",
		"hdd.cfg":             "~" + at("disk") + "\n",
		"master.cfg": lines(append(as,
			setting("SYSLOG_IDENT", fmt.Sprintf("mfsmaster-%d", p.client)),
			setting("DISABLE_OOM_KILLER", 0),
			setting("DATA_PATH", at("master")),
			setting("EXPORTS_FILENAME", at("exports.cfg")),
			setting("TOPOLOGY_FILENAME", at("topology.cfg")),
			setting("MATOML_LISTEN_HOST", "127.0.0.1"), setting("MATOML_LISTEN_PORT", p.meta),
			setting("MATOCS_LISTEN_HOST", "127.0.0.1"), setting("MATOCS_LISTEN_PORT", p.chunk),
			setting("MATOCL_LISTEN_HOST", "127.0.0.1"), setting("MATOCL_LISTEN_PORT", p.client),
			setting("CHANGELOG_SAVE_MODE", 1),
			setting("SESSION_SUSTAIN_TIME", 60),
			// A chunk server may not have an address of loopback otherwise.
			setting("REMAP_BITS", 32),
			setting("REMAP_SOURCE_IP_CLASS", "127.0.0.1"),
			setting("REMAP_DESTINATION_IP_CLASS", "0.0.0.0"))...),
		"chunks.cfg": lines(append(as,
			setting("SYSLOG_IDENT", fmt.Sprintf("mfschunkserver-%d", p.client)),
			setting("DISABLE_OOM_KILLER", 0),
			setting("DATA_PATH", at("chunks")),
			setting("HDD_CONF_FILENAME", at("hdd.cfg")),
			setting("HDD_LEAVE_SPACE_DEFAULT", "64MiB"),
			setting("HDD_FSYNC_BEFORE_CLOSE", 1),
			setting("MASTER_HOST", "0.0.0.0"), setting("MASTER_PORT", p.chunk),
			setting("MASTER_RECONNECTION_DELAY", 1),
			setting("CSSERV_LISTEN_HOST", "127.0.0.1"), setting("CSSERV_LISTEN_PORT", p.data))...),
	}
	var problems []error
	for name, text := range files {
		problems = append(problems, os.WriteFile(at(name), []byte(text), 0o600))
	}
	return errors.Join(problems...)
}
