package clickhouse

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/ClickHouse/clickhouse-go/v2"
)

//go:embed sql
var files embed.FS

// layout says where the tables are.
type layout struct {
	// Cluster is a cluster in the servers' configuration, as a name in SQL; empty: one server.
	Cluster string
	// database is the database's name, for the paths in Keeper.
	database string
}

func newLayout(cluster, database string) layout {
	l := layout{database: database}
	if cluster != "" {
		l.Cluster = quoted(cluster)
	}
	return l
}

// OnCluster returns the DDL clause for all servers of a cluster.
func (l layout) OnCluster() string {
	if l.Cluster == "" {
		return ""
	}
	return " on cluster " + l.Cluster
}

// Local returns the name of the table on one server.
func (l layout) Local(table string) string {
	if l.Cluster == "" {
		return table
	}
	return table + "_local"
}

// Engine returns the engine of a table on one server. In a cluster it is replicated to the servers of the same
// {shard}.
func (l layout) Engine(name, table string, args ...string) string {
	if l.Cluster != "" {
		path := quoteText("/clickhouse/tables/{shard}/" + l.database + "/" + l.Local(table))
		name, args = "Replicated"+name, append([]string{path, "'{replica}'"}, args...)
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

// Every returns the engine of a table that every server has a copy of.
func (l layout) Every(name, table string) string {
	if l.Cluster == "" {
		return name + "()"
	}
	return "Replicated" + name + "(" + quoteText("/clickhouse/"+l.database+"/"+table) + ", '{shard}-{replica}')"
}

// statements returns the statements of a file in sql, in order.
func (l layout) statements(file string) ([]string, error) {
	b, err := files.ReadFile("sql/" + file)
	if err != nil {
		return nil, err
	}
	t, err := template.New(file).Parse(string(b))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var out strings.Builder
	if err := t.Execute(&out, l); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var list []string
	for one := range strings.SplitSeq(comments.ReplaceAllString(out.String(), ""), ";\n") {
		if one = strings.TrimSpace(one); one != "" {
			list = append(list, one)
		}
	}
	return list, nil
}

var comments = regexp.MustCompile(`(?m)^ *--.*\n`)

// migration is a file that upgrades the tables to a version from the one before.
type migration struct {
	version uint32
	file    string
}

// migrations returns all migrations, in order.
func migrations() ([]migration, error) {
	names, err := fs.Glob(files, "sql/[0-9]*.sql")
	if err != nil {
		return nil, err
	}
	list := make([]migration, len(names))
	for i, name := range names { // sorted
		file := strings.TrimPrefix(name, "sql/")
		number, _, _ := strings.Cut(file, "_")
		v, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s has no number", file)
		}
		list[i] = migration{uint32(v), file}
	}
	return list, nil
}

// NewerError means that a newer program made the tables.
type NewerError struct {
	Database     string
	Found, Known uint32
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("the database %s was made by a newer ingero-echo: version %d of its tables; this one knows %d. "+
		"Use that one, or give another database", e.Database, e.Found, e.Known)
}

// migrate upgrades the tables to this version, or refuses those of a newer one before it changes anything. It repeats
// what was done halfway.
func (s *Store) migrate(ctx context.Context, list []migration) error {
	known := list[len(list)-1].version
	found, err := s.version(ctx)
	if err != nil {
		return fmt.Errorf("read the version: %w", err)
	}
	if found > known {
		return &NewerError{s.database, found, known}
	}
	if found == 0 {
		if err := s.exec(ctx, fmt.Sprintf("create table if not exists meta%s (version UInt32, made DateTime default now()) "+
			"engine = %s order by version", s.layout.OnCluster(), s.layout.Every("MergeTree", "meta"))); err != nil {
			return fmt.Errorf("make the table of the version: %w", err)
		}
	}
	for _, m := range list {
		if m.version <= found {
			continue
		}
		if err := s.execFile(ctx, m.file); err != nil {
			return fmt.Errorf("make the tables of version %d: %w", m.version, err)
		}
		if err := s.exec(ctx, fmt.Sprintf("insert into meta (version) values (%d)", m.version)); err != nil {
			return fmt.Errorf("write the version: %w", err)
		}
		s.options.Logger.Info("the tables were made", "database", s.database, "version", m.version)
	}
	return nil
}

// version returns the version of the tables; 0: there are none.
func (s *Store) version(ctx context.Context) (uint32, error) {
	var n uint64
	const question = "select count() from system.tables where database = currentDatabase() and name = 'meta'"
	if err := s.conn.QueryRow(ctx, question).Scan(&n); err != nil || n == 0 {
		return 0, err
	}
	var v uint32
	err := s.conn.QueryRow(ctx, "select max(version) from meta").Scan(&v)
	return v, err
}

func (s *Store) execFile(ctx context.Context, file string) error {
	list, err := s.layout.statements(file)
	if err != nil {
		return err
	}
	for _, statement := range list {
		if err := s.exec(ctx, statement); err != nil {
			first, _, _ := strings.Cut(statement, "(")
			return fmt.Errorf("%s: %w", strings.TrimSpace(first), err)
		}
	}
	return nil
}

// exec runs a statement made by this package.
func (s *Store) exec(ctx context.Context, statement string) error {
	return s.conn.Exec(clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"mutations_sync": 0, "async_insert": 0, "distributed_ddl_task_timeout": ddlTime,
	})), statement)
}

// ddlTime is how many seconds a statement waits for all servers of a cluster.
const ddlTime = 60

// quoted returns a name in SQL.
func quoted(name string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(name) + "`"
}

// quoteText returns a text in SQL.
func quoteText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
