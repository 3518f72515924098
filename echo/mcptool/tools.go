package mcptool

// tools lists the tools in the order that clients get them in. A new one is a file and a line here.
var tools = []entry{
	summaryTool,
	stragglersTool,
	outliersTool,
	analysisTool,
	historyTool,
	anomaliesTool,
	costTool,
}
