package metrics

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/ingero-io/ingero/store"
)

// Xids sends each Xid error as a log record. It may run at the same time as Findings.
func (l *Logs) Xids(list []store.Xid) {
	for i := range list {
		x := &list[i]
		var rec log.Record
		rec.SetTimestamp(time.Unix(0, int64(x.At)))
		rec.SetObservedTimestamp(time.Unix(0, int64(x.At)))
		rec.SetEventName("ingero.gpu.xid")
		rec.SetSeverity(log.SeverityWarn)
		rec.SetSeverityText("WARN")
		if x.Fatal() {
			rec.SetSeverity(log.SeverityError)
			rec.SetSeverityText("ERROR")
		}
		rec.SetBody(attribute.StringValue(x.String()))
		rec.AddAttributes(attribute.Int64("ingero.gpu.xid", int64(x.Code)))
		if x.GPU >= 0 {
			rec.AddAttributes(attribute.String(attrHW, strconv.Itoa(x.GPU)))
		}
		l.logger.Emit(context.Background(), rec)
	}
}
