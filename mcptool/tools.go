package mcptool

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tools is the list of tools. A new one is a file and a line here.
var tools = []func(*server, *mcp.Server){
	addQueryFleet,
}
