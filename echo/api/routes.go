package api

import "net/http"

// route is a request that the API answers.
type route struct {
	method, path string // below a prefix
	about        string
	request      object // schema of the body; nil: no body
	response     object // schema of the answer
	serve        func(*server, http.ResponseWriter, *http.Request)
}

// routes returns the list of requests. A new one is a line here and a method.
func routes() []route {
	return []route{
		{
			http.MethodPost, "sql", "One reading statement of SQL.", fields(object{"sql": textType()}, "sql"),
			fields(object{
				"columns": list(textType()), "rows": list(list(object{})),
				"cut": object{"type": "string", "description": "which limit cut rows off: rows or bytes"},
			}, "columns", "rows"), (*server).sql,
		},
		{
			http.MethodGet, "tools/list", "All tools, with the schemas of their arguments and answers.", nil, toolList(),
			(*server).list,
		},
		{
			http.MethodPost, "tools/{name}", "Call a tool. Its arguments and answer are as tools/list says.",
			fields(object{"args": object{"type": "object"}}), fields(object{"result": object{"type": "object"}}, "result"),
			(*server).tool,
		},
		{
			http.MethodGet, "whoami", "What the token may do; any token may ask.", nil,
			fields(object{"scopes": list(object{"type": "string", "enum": []string{"write", "read"}})}, "scopes"),
			(*server).whoami,
		},
		{
			http.MethodGet, "health", "That the program answers.", nil, fields(object{"status": textType()}, "status"),
			(*server).health,
		},
		{http.MethodGet, "openapi.json", "This document.", nil, object{"type": "object"}, (*server).document},
	}
}

func toolList() object {
	return fields(object{"tools": list(fields(object{
		"name": textType(), "description": textType(), "inputSchema": object{"type": "object"},
		"outputSchema": object{"type": "object"},
	}, "name", "description", "inputSchema", "outputSchema"))}, "tools")
}
