-- Where traces are kept: what a span of a message, or of an event, goes on from (W3C trace context). Nothing depends on
-- these rows but traces. Ids are UUIDs of version 7, so a range of ids is a range of days.
CREATE TABLE "trace_contexts" (
    "id" UUID NOT NULL,
    "traceparent" TEXT NOT NULL,
    CONSTRAINT "trace_contexts_pkey" PRIMARY KEY ("id")
);
