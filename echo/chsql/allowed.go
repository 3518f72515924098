package chsql

import "strings"

// kinds are the allowed nodes of a tree. Settings, formats, parameters, and columns by a pattern are not among them.
var kinds = []string{
	// Statements.
	"SelectWithUnionQuery", "SelectIntersectExceptQuery", "SelectQuery", "Subquery", "WithElement",
	// Tables.
	"TablesInSelectQuery", "TablesInSelectQueryElement", "TableExpression", "TableIdentifier", "TableJoin", "ArrayJoin",
	// Expressions.
	"ExpressionList", "Function", "Identifier", "Literal", "Asterisk", "QualifiedAsterisk", "ColumnsTransformerList",
	"ColumnsExceptTransformer", "ColumnsReplaceTransformer", "ColumnsReplaceTransformer::Replacement",
	// Clauses.
	"OrderByElement", "WindowDefinition", "WindowListElement",
}

// within are the functions of IN.
var within = []string{"in", "notin", "nullin", "notnullin", "globalin", "globalnotin"}

// aggregates are the allowed aggregate functions, also with the suffixes If and Distinct. None of them collects all
// values in a list.
const aggregates = `
count countDistinct sum sumKahan sumWithOverflow avg avgWeighted min max median any anyLast any_value first_value
last_value argMin argMax uniq uniqExact uniqCombined uniqHLL12 stddev stddevPop stddevSamp stddev_pop stddev_samp
stddevPopStable stddevSampStable varPop varSamp var_pop var_samp varPopStable varSampStable covarPop covarSamp
covar_pop covar_samp corr skewPop skewSamp kurtPop kurtSamp entropy simpleLinearRegression quantile quantiles
quantileExact quantilesExact quantileExactLow quantileExactHigh quantileExactInclusive quantilesExactInclusive
quantileExactExclusive quantilesExactExclusive quantileDD quantilesDD quantileTDigest quantilesTDigest
quantileDeterministic bool_and bool_or groupBitAnd groupBitOr groupBitXor bit_and bit_or bit_xor medianExact
deltaSum deltaSumTimestamp maxIntersections
`

// functions are the allowed functions. They only read their arguments and the clock. None makes long texts, or lists
// of short ones, and the engine counts the memory of those that join texts. So there is no repeat, range, format,
// replaceAll, groupArray, file, dictGet, getSetting, and no lambda.
const functions = `
plus minus multiply divide intDiv div mod modulo negate abs and or xor not equals notEquals less greater lessOrEquals
greaterOrEquals isNotDistinctFrom isDistinctFrom like notLike ilike notILike match in notIn nullIn notNullIn globalIn
globalNotIn bitAnd bitOr bitXor bitNot bitShiftLeft bitShiftRight bitCount exists

row_number rank dense_rank percent_rank cume_dist ntile lag lead lagInFrame leadInFrame nth_value

ceil ceiling floor round roundBankers trunc truncate sign sqrt cbrt exp exp2 ln log log2 log10 pow power greatest least
gcd lcm pi degrees radians sin cos tan asin acos atan atan2 isNaN isInfinite isFinite intDivOrZero moduloOrZero
positiveModulo width_bucket widthBucket

coalesce ifNull nullIf if multiIf caseWithExpression isNull isNotNull isNullOrEmpty assumeNotNull toNullable CAST
toInt8 toInt16 toInt32 toInt64 toUInt8 toUInt16 toUInt32 toUInt64 toFloat32 toFloat64 toString toBool
toInt32OrNull toInt64OrNull toUInt64OrNull toFloat64OrNull toDecimal64 toTypeName tuple tupleElement array arrayElement

length char_length character_length lengthUTF8 lower upper lcase ucase lowerUTF8 upperUTF8 trim ltrim rtrim trimBoth
trimLeft trimRight substr substring mid substringUTF8 left right leftUTF8 rightUTF8 reverse reverseUTF8 startsWith
endsWith position positionUTF8 positionCaseInsensitive locate strpos ascii concat concatWithSeparator concat_ws extract
regexpExtract REGEXP_EXTRACT translate hasToken hasSubstr splitByChar empty notEmpty hex unhex cityHash64 xxHash64
sipHash64 MD5 SHA1 SHA256 levenshteinDistance editDistance jaroSimilarity domain basename

arrayJoin has hasAny hasAll indexOf arrayMin arrayMax arraySum arrayAvg arrayCount arrayUniq arraySort arrayReverse
arrayDistinct arraySlice arrayCumSum arrayDifference unnest

JSON_VALUE JSON_EXISTS JSONExtract JSONExtractString JSONExtractInt JSONExtractUInt JSONExtractFloat JSONExtractBool
JSONExtractRaw JSONExtractKeys JSONHas JSONLength JSONType isValidJSON simpleJSONExtractString simpleJSONExtractInt
simpleJSONExtractFloat simpleJSONHas

now now64 today yesterday fromUnixTimestamp fromUnixTimestamp64Nano fromUnixTimestamp64Micro fromUnixTimestamp64Milli
toUnixTimestamp toUnixTimestamp64Nano toUnixTimestamp64Milli toDate toDate32 toDateTime toDateTime64 toStartOfSecond
toStartOfMinute toStartOfFiveMinutes toStartOfTenMinutes toStartOfFifteenMinutes toStartOfHour toStartOfDay
toStartOfWeek toStartOfMonth toStartOfQuarter toStartOfYear toStartOfInterval time_bucket date_trunc dateTrunc date_diff
dateDiff age date_add dateAdd date_sub dateSub formatDateTime parseDateTimeBestEffort toYear toMonth toDayOfMonth
toDayOfWeek toDayOfYear toHour toMinute toSecond toMillisecond toISOWeek year month day hour minute second dayofweek
dayofyear toIntervalNanosecond toIntervalMicrosecond toIntervalMillisecond toIntervalSecond toIntervalMinute
toIntervalHour toIntervalDay toIntervalWeek toIntervalMonth toIntervalYear addSeconds addMinutes addHours addDays
subtractSeconds subtractMinutes subtractHours subtractDays timeDiff
`

// allowed has them all in lower case: ClickHouse accepts some in any case.
var allowed = func() map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(functions) {
		all[strings.ToLower(name)] = true
	}
	for name := range strings.FieldsSeq(aggregates) {
		for _, more := range []string{"", "If", "Distinct", "DistinctIf", "OrNull"} {
			all[strings.ToLower(name+more)] = true
		}
	}
	return all
}()
