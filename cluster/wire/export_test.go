package wire

// The versions of what agents push, and of what a fleet replies.
const (
	DataVersion  = dataVersion
	ReplyVersion = replyVersion
)
