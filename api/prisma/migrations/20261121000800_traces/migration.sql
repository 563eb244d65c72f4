-- W3C trace context of a message or event: the parent of its next span. Only tracing uses this table. Ids are UUIDs of
-- version 7, so a range of ids is a range of days.
CREATE TABLE "trace_contexts" (
    "id" UUID NOT NULL,
    "traceparent" TEXT NOT NULL,
    CONSTRAINT "trace_contexts_pkey" PRIMARY KEY ("id")
);
