package mcptool

// tools is the list of tools, in the order in which clients get them. A new one is a file and a line here.
var tools = []entry{
	summaryTool,
	stragglersTool,
	outliersTool,
	analysisTool,
	historyTool,
	anomaliesTool,
	costTool,
}
