package gate

import "strings"

// kinds are the allowed nodes of a tree other than expressions: statements, tables, and clauses.
var kinds = []string{
	// Statements.
	"SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE",
	// Tables. Table functions and files are not among them.
	"BASE_TABLE", "SUBQUERY", "JOIN", "EXPRESSION_LIST", "EMPTY",
	// Clauses.
	"ORDER_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "DISTINCT_MODIFIER",
	// Directions of an order, which have the same field in a tree.
	"ORDER_DEFAULT", "ASCENDING", "DESCENDING",
}

// joins are the allowed kinds of joins. A positional one is not among them: tables have no order.
var joins = []string{"REGULAR", "NATURAL", "CROSS", "ASOF"}

// classes are the allowed expressions. Parameters, and functions that a statement defines, are not among them.
var classes = []string{
	"CONSTANT", "COLUMN_REF", "FUNCTION", "COMPARISON", "CONJUNCTION", "OPERATOR", "CASE", "CAST", "BETWEEN", "STAR",
	"SUBQUERY", "WINDOW", "POSITIONAL_REFERENCE", "TYPE",
}

// types are what a value may be cast to. A blob as bits as a text is eight times as long; a list or row of texts has
// each quote twice as a text.
var types = []string{
	"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
	"UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "UUID", "JSON", "DATE", "TIME", "TIME WITH TIME ZONE", "TIME_NS",
	"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "INTERVAL",
}

// growing are functions with a result that is longer than their arguments. No limit of the engine counts it.
var growing = []string{"||", "concat", "concat_ws", "list_value", "row", "struct_pack", "json_array", "json_quote"}

// composing are the functions that make a list or a row, also as JSON.
var composing = []string{"list_value", "row", "struct_pack", "json_array", "json_quote"}

// copying are the allowed functions with a result that may be as long as a text of their arguments.
var copying = []string{
	"lower", "upper", "lcase", "ucase", "trim", "ltrim", "rtrim", "substr", "substring", "left", "right", "reverse",
	"strip_accents", "regexp_extract", "substring_grapheme", "left_grapheme", "right_grapheme",
	"->", "->>", "json_extract", "json_extract_string", "json_extract_path", "json_extract_path_text", "json_keys",
	"json_value",
}

// twice are macros of the engine that have an argument twice.
var twice = []string{"nullif", "split_part"}

// short are columns of tables with values of 256 bytes at most: names, numbers and times.
var short = words(`
timestamp_ns received_ns start_ns enter_ns exit_ns duration_ns minute_ns cluster_id node_id metric_name event_name
rank nranks kind unit temporality severity scope trace_id span_id value value_double value_int severity_number count
sum min max p50 p90 p99 health_score throughput_ratio compute_efficiency memory_headroom cpu_availability seq bytes
pid own_ms usual_own_ms late_ms wait_ms usual_wait_ms lost_pct lost_ns score excess
`)

func words(list string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		all[word] = true
	}
	return all
}

// functions are the allowed functions, one per word. They only read their arguments and the clock. None makes long
// texts or lists of short ones, so there is no repeat, lpad, range, format, replace, list, string_agg.
const functions = `
+ - * / // % ** ^ & | << >> ~ ~~ !~~ ~~* !~~* ~~~ -> ->> ^@ ! like_escape not_like_escape ilike_escape
not_ilike_escape

count count_star count_if sum sum_no_overflow avg mean min max median mad mode first last any_value arg_min arg_max
min_by max_by bool_and bool_or bit_and bit_or bit_xor product fsum kahan_sum favg stddev stddev_pop stddev_samp
variance var_pop var_samp corr covar_pop covar_samp regr_slope regr_intercept regr_r2 regr_count regr_avgx regr_avgy
entropy skewness kurtosis sem quantile quantile_cont quantile_disc approx_quantile approx_count_distinct
reservoir_quantile

row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value

abs ceil ceiling floor round trunc sign sqrt cbrt exp ln log log2 log10 pow power mod fdiv divide greatest least gcd
lcm pi degrees radians sin cos tan asin acos atan atan2 isnan isinf isfinite nextafter even add subtract multiply xor
bit_count

coalesce ifnull nullif if

length len strlen lower upper lcase ucase trim ltrim rtrim substr substring left right reverse strip_accents contains
starts_with ends_with prefix suffix position instr strpos ascii unicode ord hash md5 md5_number sha1 sha256
levenshtein jaccard jaro_similarity regexp_matches regexp_full_match regexp_extract split_part translate
substring_grapheme left_grapheme right_grapheme

list_extract array_extract list_element element_at list_contains array_contains list_has array_length list_position
struct_extract list_min list_max list_sum list_avg cardinality unnest

json_extract json_extract_string json_extract_path json_extract_path_text json_type json_valid json_array_length
json_contains json_exists json_keys json_value typeof

epoch epoch_ms epoch_us epoch_ns make_timestamp make_timestamp_ms make_timestamp_ns to_timestamp time_bucket date_trunc
datetrunc date_part datepart date_diff datediff date_sub datesub date_add age now current_timestamp
get_current_timestamp current_date today strftime strptime try_strptime year month day hour minute second millisecond
microsecond nanosecond dayofweek dayofyear week last_day to_seconds to_milliseconds to_microseconds to_minutes to_hours
to_days
`
