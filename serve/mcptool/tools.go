package mcptool

import "github.com/modelcontextprotocol/go-sdk/mcp"

// tools is the list of tools, in the order in which clients get them. A new one is a
// file and a line here.
var tools = []interface{ addTo(*server, *mcp.Server) }{
	diagnoseTool,
	traceStatsTool,
	timelineTool,
	causalChainsTool,
	stacksTool,
	runSQLTool,
	graphLifecycleTool,
	graphFrequencyTool,
	checkTool,
	queryFleetTool,
	runDemoTool,
	testReportTool,
}
