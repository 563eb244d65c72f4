-- Tables of schema.prisma; below them, everything that a Prisma schema cannot express.

-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateTable
CREATE TABLE "key_checks" (
    "key_id" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "key_checks_pkey" PRIMARY KEY ("key_id")
);

-- CreateTable
CREATE TABLE "accounts" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "max_instances" INTEGER,
    "requests_per_minute" INTEGER,
    "policy" JSONB NOT NULL DEFAULT '{}',
    "namespaces" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "suspended_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "scopes" TEXT[],
    "restricted" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_key_instances" (
    "api_key_id" UUID NOT NULL,
    "instance_id" UUID NOT NULL,

    CONSTRAINT "api_key_instances_pkey" PRIMARY KEY ("api_key_id","instance_id")
);

-- CreateTable
CREATE TABLE "audit_entries" (
    "id" UUID NOT NULL,
    "account_id" UUID,
    "actor" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "detail" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "reported_at" TIMESTAMPTZ(3),

    CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "instances" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "environment" TEXT NOT NULL,
    "interactive_mode" TEXT NOT NULL,
    "policy" JSONB NOT NULL DEFAULT '{}',
    "suspended" BOOLEAN NOT NULL DEFAULT false,
    "resource_namespace" TEXT NOT NULL,
    "resource_name" TEXT NOT NULL,
    "resource_uid" TEXT NOT NULL,
    "resource_generation" BIGINT NOT NULL,
    "state" TEXT NOT NULL,
    "state_reason" TEXT,
    "state_changed_at" TIMESTAMPTZ(3) NOT NULL,
    "offline_ms" BIGINT NOT NULL DEFAULT 0,
    "jid" TEXT,
    "business_name" TEXT,
    "first_paired_at" TIMESTAMPTZ(3),
    "first_connected_at" TIMESTAMPTZ(3),
    "banned_until" TIMESTAMPTZ(3),
    "restricted_until" TIMESTAMPTZ(3),
    "reconnect_count" INTEGER NOT NULL DEFAULT 0,
    "reconnect_at" TIMESTAMPTZ(3),
    "command_key_sealed" BYTEA NOT NULL,
    "unlink_id" UUID,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "instances_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "instance_leases" (
    "instance_id" UUID NOT NULL,
    "epoch" INTEGER NOT NULL DEFAULT 0,
    "holder" UUID,
    "token_id" UUID,
    "pod" TEXT,
    "version" TEXT,
    "renewed_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "instance_leases_pkey" PRIMARY KEY ("instance_id")
);

-- CreateTable
CREATE TABLE "engine_tokens" (
    "id" UUID NOT NULL,
    "instance_id" UUID NOT NULL,
    "pod" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "issued_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "engine_tokens_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "instance_states" (
    "id" UUID NOT NULL,
    "instance_id" UUID NOT NULL,
    "state" TEXT NOT NULL,
    "reason" TEXT,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "instance_states_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "instance_suspensions" (
    "id" UUID NOT NULL,
    "instance_id" UUID NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "instance_suspensions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "session_keys" (
    "instance_id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "value_sealed" BYTEA NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "session_keys_pkey" PRIMARY KEY ("instance_id","type","key")
);

-- CreateTable
CREATE TABLE "pairing_sessions" (
    "instance_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "method" TEXT NOT NULL,
    "phone_sealed" BYTEA,
    "state" TEXT NOT NULL,
    "code_sealed" BYTEA,
    "qr_count" INTEGER NOT NULL DEFAULT 0,
    "expires_at" TIMESTAMPTZ(3),
    "error" TEXT,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "pairing_sessions_pkey" PRIMARY KEY ("instance_id")
);

-- CreateTable
CREATE TABLE "expiring_codes" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "event_id" UUID,
    "record_id" UUID,
    "replacement_sealed" BYTEA NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "expiring_codes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "contact_checks" (
    "instance_id" UUID NOT NULL,
    "phone" TEXT NOT NULL,
    "jid" TEXT,
    "checked_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "contact_checks_pkey" PRIMARY KEY ("instance_id","phone")
);

-- CreateTable
CREATE TABLE "contacts" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "name" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "contacts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "contact_names" (
    "account_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "contact_id" UUID NOT NULL,

    CONSTRAINT "contact_names_pkey" PRIMARY KEY ("account_id","name")
);

-- CreateTable
CREATE TABLE "conversations" (
    "id" UUID NOT NULL,
    "instance_id" UUID NOT NULL,
    "contact_id" UUID,
    "group_id" TEXT,
    "last_seq" BIGINT NOT NULL DEFAULT 0,
    "first_sent_at" TIMESTAMPTZ(3),
    "first_sent_no" BIGINT,
    "last_wrote_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "days" INTEGER[] DEFAULT ARRAY[]::INTEGER[],

    CONSTRAINT "conversations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "opt_outs" (
    "contact_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "phone" TEXT,
    "source" TEXT NOT NULL,
    "keyword" TEXT,
    "instance_id" UUID,
    "unfinished" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "opt_outs_pkey" PRIMARY KEY ("contact_id")
);

-- CreateTable
CREATE TABLE "engine_calls" (
    "instance_id" UUID NOT NULL,
    "route" TEXT NOT NULL,
    "epoch" INTEGER NOT NULL,
    "number" BIGINT NOT NULL,

    CONSTRAINT "engine_calls_pkey" PRIMARY KEY ("instance_id","route")
);

-- CreateTable
CREATE TABLE "instance_counters" (
    "instance_id" UUID NOT NULL,
    "new_contacts" BIGINT NOT NULL DEFAULT 0,
    "texts" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "instance_counters_pkey" PRIMARY KEY ("instance_id")
);

-- CreateTable
CREATE TABLE "mass_sends" (
    "fingerprint" UUID NOT NULL,
    "contact_id" UUID NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "mass_sends_pkey" PRIMARY KEY ("fingerprint","contact_id")
);

-- CreateTable
CREATE TABLE "messages" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "instance_id" UUID NOT NULL,
    "conversation_id" UUID NOT NULL,
    "direction" TEXT NOT NULL,
    "to" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "wa_message_id" TEXT,
    "participant" TEXT,
    "rendered_as" TEXT,
    "error_code" TEXT,
    "error_message" TEXT,
    "played" BOOLEAN NOT NULL DEFAULT false,
    "deleted_for_all" BOOLEAN NOT NULL DEFAULT false,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "scheduled_for" TIMESTAMPTZ(3),
    "sent_at" TIMESTAMPTZ(3),
    "delivered_at" TIMESTAMPTZ(3),
    "read_at" TIMESTAMPTZ(3),
    "failed_at" TIMESTAMPTZ(3),
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "messages_pkey" PRIMARY KEY ("id")
) PARTITION BY RANGE ("id");

-- CreateTable
CREATE TABLE "inbound_seen" (
    "conversation_id" UUID NOT NULL,
    "participant" TEXT NOT NULL,
    "wa_message_id" TEXT NOT NULL,
    "message_id" UUID NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "inbound_seen_pkey" PRIMARY KEY ("conversation_id","participant","wa_message_id")
);

-- CreateTable
CREATE TABLE "message_contents" (
    "message_id" UUID NOT NULL,
    "instance_id" UUID NOT NULL,
    "content_sealed" BYTEA NOT NULL,
    "built_sealed" BYTEA,
    "delete_at" TIMESTAMPTZ(3),

    CONSTRAINT "message_contents_pkey" PRIMARY KEY ("message_id")
);

-- CreateTable
CREATE TABLE "outbox" (
    "message_id" UUID NOT NULL,
    "instance_id" UUID NOT NULL,
    "conversation_id" UUID NOT NULL,
    "seq" BIGINT,
    "state" TEXT NOT NULL,
    "head" BOOLEAN NOT NULL DEFAULT false,
    "head_since" TIMESTAMPTZ(3),
    "prepared" BOOLEAN NOT NULL DEFAULT true,
    "prepare_at" TIMESTAMPTZ(3),
    "prepare_attempts" INTEGER NOT NULL DEFAULT 0,
    "release_at" TIMESTAMPTZ(3),
    "offline_ms_at_start" BIGINT NOT NULL,
    "claim_id" UUID,
    "claim_epoch" INTEGER,
    "claim_holder" UUID,
    "claimed_at" TIMESTAMPTZ(3),
    "attempted_at" TIMESTAMPTZ(3),
    "notified_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "outbox_pkey" PRIMARY KEY ("message_id")
);

-- CreateTable
CREATE TABLE "menus" (
    "message_id" UUID NOT NULL,
    "conversation_id" UUID NOT NULL,
    "instance_id" UUID NOT NULL,
    "wa_message_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "mode" TEXT NOT NULL,
    "options_sealed" BYTEA NOT NULL,
    "sent_at" TIMESTAMPTZ(3),
    "answered_at" TIMESTAMPTZ(3),
    "delete_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "menus_pkey" PRIMARY KEY ("message_id")
);

-- CreateTable
CREATE TABLE "media" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "instance_ids" UUID[] DEFAULT ARRAY[]::UUID[],
    "message_id" UUID,
    "mimetype" TEXT NOT NULL,
    "size" INTEGER NOT NULL,
    "sha256" BYTEA NOT NULL,
    "filename_sealed" BYTEA,
    "key_sealed" BYTEA NOT NULL,
    "store_key" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "removed_at" TIMESTAMPTZ(3),

    CONSTRAINT "media_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "store_removals" (
    "store_key" TEXT NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "store_removals_pkey" PRIMARY KEY ("store_key")
);

-- CreateTable
CREATE TABLE "maintenance_tasks" (
    "task" TEXT NOT NULL,
    "done_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "maintenance_tasks_pkey" PRIMARY KEY ("task")
);

-- CreateTable
CREATE TABLE "idempotency_records" (
    "id" UUID NOT NULL,
    "account_id" UUID,
    "body_hash" BYTEA NOT NULL,
    "instance_id" UUID,
    "resource_id" UUID,
    "status" INTEGER,
    "response_sealed" BYTEA,
    "locked_until" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_records_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "events" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "instance_id" UUID,
    "type" TEXT NOT NULL,
    "timestamp" TIMESTAMPTZ(3) NOT NULL,
    "data_sealed" BYTEA NOT NULL,

    CONSTRAINT "events_pkey" PRIMARY KEY ("id")
) PARTITION BY RANGE ("id");

-- CreateTable
CREATE TABLE "webhook_endpoints" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "url" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "event_types" TEXT[],
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "disabled_reason" TEXT,
    "disabled_at" TIMESTAMPTZ(3),
    "failing_since" TIMESTAMPTZ(3),
    "last_failed_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_endpoint_instances" (
    "endpoint_id" UUID NOT NULL,
    "instance_id" UUID NOT NULL,

    CONSTRAINT "webhook_endpoint_instances_pkey" PRIMARY KEY ("endpoint_id","instance_id")
);

-- CreateTable
CREATE TABLE "webhook_secrets" (
    "id" UUID NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "secret_sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_secrets_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_deliveries" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "event_id" UUID NOT NULL,
    "instance_id" UUID,
    "event_type" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3),
    "last_status_code" INTEGER,
    "last_error" TEXT,
    "last_latency_ms" INTEGER,
    "last_response_sealed" BYTEA,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "delivered_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id")
) PARTITION BY RANGE ("id");

-- CreateTable
CREATE TABLE "webhook_queue" (
    "delivery_id" UUID NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "event_id" UUID NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "locked_until" TIMESTAMPTZ(3),
    "locked_by" UUID,

    CONSTRAINT "webhook_queue_pkey" PRIMARY KEY ("delivery_id")
);

-- CreateTable
CREATE TABLE "format_checks" (
    "id" UUID NOT NULL,
    "format" TEXT NOT NULL,
    "message_id" UUID NOT NULL,
    "result" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "checked_at" TIMESTAMPTZ(3),

    CONSTRAINT "format_checks_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "device_checks" (
    "format" TEXT NOT NULL,
    "device" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "note" TEXT,
    "checked_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "device_checks_pkey" PRIMARY KEY ("format","device")
);

-- CreateIndex
CREATE UNIQUE INDEX "accounts_name_key" ON "accounts"("name");

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_hash_key" ON "api_keys"("hash");

-- CreateIndex
CREATE INDEX "api_keys_account_id_idx" ON "api_keys"("account_id");

-- CreateIndex
CREATE INDEX "api_key_instances_instance_id_idx" ON "api_key_instances"("instance_id");

-- CreateIndex
CREATE INDEX "audit_entries_account_id_id_idx" ON "audit_entries"("account_id", "id");

-- CreateIndex
CREATE INDEX "audit_entries_subject_id_idx" ON "audit_entries"("subject", "id");

-- CreateIndex
CREATE INDEX "instances_account_id_id_idx" ON "instances"("account_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "instances_resource_uid_resource_namespace_resource_name_key" ON "instances"("resource_uid", "resource_namespace", "resource_name");

-- CreateIndex
CREATE INDEX "instance_leases_expires_at_idx" ON "instance_leases"("expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "engine_tokens_hash_key" ON "engine_tokens"("hash");

-- CreateIndex
CREATE INDEX "engine_tokens_instance_id_idx" ON "engine_tokens"("instance_id");

-- CreateIndex
CREATE INDEX "instance_states_instance_id_since_idx" ON "instance_states"("instance_id", "since");

-- CreateIndex
CREATE INDEX "instance_suspensions_instance_id_since_idx" ON "instance_suspensions"("instance_id", "since");

-- CreateIndex
CREATE INDEX "expiring_codes_expires_at_idx" ON "expiring_codes"("expires_at");

-- CreateIndex
CREATE INDEX "contacts_account_id_idx" ON "contacts"("account_id");

-- CreateIndex
CREATE INDEX "contact_names_contact_id_idx" ON "contact_names"("contact_id");

-- CreateIndex
CREATE INDEX "conversations_contact_id_idx" ON "conversations"("contact_id");

-- CreateIndex
CREATE UNIQUE INDEX "conversations_instance_id_contact_id_key" ON "conversations"("instance_id", "contact_id");

-- CreateIndex
CREATE UNIQUE INDEX "conversations_instance_id_group_id_key" ON "conversations"("instance_id", "group_id");

-- CreateIndex
CREATE UNIQUE INDEX "opt_outs_id_key" ON "opt_outs"("id");

-- CreateIndex
CREATE INDEX "opt_outs_account_id_id_idx" ON "opt_outs"("account_id", "id");

-- CreateIndex
CREATE INDEX "mass_sends_at_idx" ON "mass_sends" USING BRIN ("at");

-- CreateIndex
CREATE INDEX "inbound_seen_seen_at_idx" ON "inbound_seen"("seen_at");

-- CreateIndex
CREATE INDEX "menus_conversation_id_message_id_idx" ON "menus"("conversation_id", "message_id");

-- CreateIndex
CREATE INDEX "menus_instance_id_wa_message_id_idx" ON "menus"("instance_id", "wa_message_id");

-- CreateIndex
CREATE INDEX "menus_delete_at_idx" ON "menus"("delete_at");

-- CreateIndex
CREATE INDEX "media_account_id_idx" ON "media"("account_id");

-- CreateIndex
CREATE INDEX "media_expires_at_idx" ON "media"("expires_at");

-- CreateIndex
CREATE INDEX "store_removals_due_at_idx" ON "store_removals"("due_at");

-- CreateIndex
CREATE INDEX "idempotency_records_expires_at_idx" ON "idempotency_records" USING BRIN ("expires_at");

-- CreateIndex
CREATE INDEX "events_account_id_id_idx" ON "events"("account_id", "id");

-- CreateIndex
CREATE INDEX "events_instance_id_id_idx" ON "events"("instance_id", "id");

-- CreateIndex
CREATE INDEX "events_account_id_type_id_idx" ON "events"("account_id", "type", "id");

-- CreateIndex
CREATE INDEX "webhook_endpoints_account_id_id_idx" ON "webhook_endpoints"("account_id", "id");

-- CreateIndex
CREATE INDEX "webhook_endpoint_instances_instance_id_idx" ON "webhook_endpoint_instances"("instance_id");

-- CreateIndex
CREATE INDEX "webhook_secrets_endpoint_id_idx" ON "webhook_secrets"("endpoint_id");

-- CreateIndex
CREATE INDEX "webhook_deliveries_endpoint_id_id_idx" ON "webhook_deliveries"("endpoint_id", "id");

-- CreateIndex
CREATE INDEX "webhook_deliveries_event_id_idx" ON "webhook_deliveries"("event_id");

-- CreateIndex
CREATE INDEX "webhook_queue_endpoint_id_due_at_idx" ON "webhook_queue"("endpoint_id", "due_at");

-- CreateIndex
CREATE INDEX "webhook_queue_due_at_idx" ON "webhook_queue"("due_at");

-- CreateIndex
CREATE INDEX "format_checks_format_started_at_idx" ON "format_checks"("format", "started_at");

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_key_instances" ADD CONSTRAINT "api_key_instances_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_key_instances" ADD CONSTRAINT "api_key_instances_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instances"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instances" ADD CONSTRAINT "instances_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instance_leases" ADD CONSTRAINT "instance_leases_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instances"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "engine_tokens" ADD CONSTRAINT "engine_tokens_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instances"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instance_states" ADD CONSTRAINT "instance_states_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instances"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instance_suspensions" ADD CONSTRAINT "instance_suspensions_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instances"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "session_keys" ADD CONSTRAINT "session_keys_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instances"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "pairing_sessions" ADD CONSTRAINT "pairing_sessions_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instances"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "contact_checks" ADD CONSTRAINT "contact_checks_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instances"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "contacts" ADD CONSTRAINT "contacts_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "contact_names" ADD CONSTRAINT "contact_names_contact_id_fkey" FOREIGN KEY ("contact_id") REFERENCES "contacts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "conversations" ADD CONSTRAINT "conversations_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instances"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "conversations" ADD CONSTRAINT "conversations_contact_id_fkey" FOREIGN KEY ("contact_id") REFERENCES "contacts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "opt_outs" ADD CONSTRAINT "opt_outs_contact_id_fkey" FOREIGN KEY ("contact_id") REFERENCES "contacts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "opt_outs" ADD CONSTRAINT "opt_outs_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "engine_calls" ADD CONSTRAINT "engine_calls_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instances"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "instance_counters" ADD CONSTRAINT "instance_counters_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instances"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "inbound_seen" ADD CONSTRAINT "inbound_seen_conversation_id_fkey" FOREIGN KEY ("conversation_id") REFERENCES "conversations"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "menus" ADD CONSTRAINT "menus_conversation_id_fkey" FOREIGN KEY ("conversation_id") REFERENCES "conversations"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "media" ADD CONSTRAINT "media_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_endpoint_instances" ADD CONSTRAINT "webhook_endpoint_instances_endpoint_id_fkey" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoints"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_endpoint_instances" ADD CONSTRAINT "webhook_endpoint_instances_instance_id_fkey" FOREIGN KEY ("instance_id") REFERENCES "instances"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_secrets" ADD CONSTRAINT "webhook_secrets_endpoint_id_fkey" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoints"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- ------------------------------------------------------------------ ids and partitions

-- UUID of version 7 from the database clock, for rows that SQL creates.
CREATE FUNCTION gwk_new_id() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid())
        placing substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6),
      52, 1), 53, 1), 'hex')::uuid
$$;

-- Smallest id that a row created at that time can have.
CREATE FUNCTION gwk_lowest_id(at timestamptz) RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
$$;

-- Time bucket of an id: its first 40 bits (256 ms) or 36 bits (4.096 s). Buckets sort like ids, of any UUID version.
CREATE FUNCTION gwk_id_bucket_256ms(id uuid) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT substr(uuid_send(id), 1, 5)
$$;
CREATE FUNCTION gwk_id_bucket_4s(id uuid) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT set_byte(substr(uuid_send(id), 1, 5), 4, get_byte(uuid_send(id), 4) & 240)
$$;

-- Upper and lower half of a text's hash: the key of that text in an index.
CREATE FUNCTION gwk_hash_high(value text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (hashtextextended(value, 0) >> 32)::integer
$$;
CREATE FUNCTION gwk_hash_low(value text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ((hashtextextended(value, 0) & 4294967295) - 2147483648)::integer
$$;
-- Equality that such an index can answer. The upper half has a range condition, because Postgres drops a column with an
-- equality from the sort order. Statements that are planned once order by it and forbid sorts. Otherwise a plan made
-- for few rows could read whole days.
CREATE FUNCTION gwk_equals_by_hash(value text, wanted text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT gwk_hash_high(value) >= gwk_hash_high(wanted) AND gwk_hash_high(value) <= gwk_hash_high(wanted)
    AND gwk_hash_low(value) = gwk_hash_low(wanted) AND value = wanted
$$;

-- For tables that every message writes to. Autovacuum would read them each minute and take 1 to 2 s of CPU. Vacuum
-- after inserts is off: all rows are changed or deleted soon, and vacuumed then. Statistics sample 3,000 rows instead
-- of 30,000, because plans do not depend on them (docs/decisions/0027-index-messages-by-time.md).
CREATE FUNCTION gwk_tune_autovacuum(relation regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  change text;
BEGIN
  -- One statement: creating a partition locks the parent meanwhile.
  EXECUTE (
    SELECT format('ALTER TABLE %s SET (autovacuum_vacuum_insert_threshold = -1), %s', relation,
      string_agg(format('ALTER COLUMN %I SET STATISTICS 10', a.attname), ', '))
    FROM pg_attribute a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped);
  -- Expression indexes have statistics of their own.
  FOR change IN
    SELECT format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS 10', i.indexrelid::regclass, a.attnum)
    FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indexrelid AND i.indkey[a.attnum - 1] = 0
    WHERE i.indrelid = relation
  LOOP
    EXECUTE change;
  END LOOP;
END $$;

-- Name of a table's partition for a day (UTC).
CREATE FUNCTION gwk_partition_name(parent text, day date) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT format('%s_%s', parent, to_char(day, 'YYYYMMDD'))
$$;

-- Creates the missing daily partitions of a table (UTC, both days included) and returns their number.
CREATE FUNCTION gwk_ensure_partitions(parent text, first_day date, last_day date) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  day date := first_day;
  name text;
  created integer := 0;
BEGIN
  WHILE day <= last_day LOOP
    name := gwk_partition_name(parent, day);
    -- Reads pg_inherits: a lookup by name can miss a partition that another worker has just created.
    IF NOT EXISTS (
      SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = parent::regclass AND c.relname = name) THEN
      -- Free space on each page of messages for updates in place (HOT). Events do not change.
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L) WITH (fillfactor = %s)', name, parent,
        gwk_lowest_id(day::timestamp AT TIME ZONE 'UTC'), gwk_lowest_id((day + 1)::timestamp AT TIME ZONE 'UTC'),
        CASE parent WHEN 'messages' THEN 80 ELSE 100 END);
      IF parent = 'messages' THEN
        PERFORM gwk_tune_autovacuum(name::regclass);
      END IF;
      created := created + 1;
    END IF;
    day := day + 1;
  END LOOP;
  RETURN created;
END $$;

-- Daily partitions of a table that end at or before a day (UTC), oldest first.
CREATE FUNCTION gwk_expired_partitions(parent text, before_day date) RETURNS SETOF text LANGUAGE sql STABLE AS $$
  -- Includes partitions that were moved to another schema. Text, because a regclass prints as a number once another
  -- worker has dropped its table.
  SELECT format('%I.%I', n.nspname, c.relname) FROM pg_inherits i
  JOIN pg_class c ON c.oid = i.inhrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE i.inhparent = parent::regclass AND c.relname ~ '_[0-9]{8}$'
    AND to_date(right(c.relname, 8), 'YYYYMMDD') < before_day
  ORDER BY c.relname
$$;

-- Blocks vacuum on a partition until the transaction ends, and cancels a running autovacuum. The drop would otherwise
-- wait for it while its own lock blocks all readers. This lock blocks neither readers nor writers.
CREATE FUNCTION gwk_lock_out_vacuum(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF to_regclass(name) IS NOT NULL THEN
    EXECUTE format('LOCK TABLE ONLY %s IN SHARE UPDATE EXCLUSIVE MODE', name::regclass);
  END IF;
END $$;

-- True if a maintenance task is due. The task counts as done when the caller's transaction commits; other callers wait
-- for that. A done_at in the future, set by a wrong clock, is ignored.
CREATE FUNCTION gwk_start_task(name text, interval_ms integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE maintenance_tasks SET done_at = clock_timestamp()
  WHERE task = name
    AND done_at NOT BETWEEN clock_timestamp() - interval_ms * interval '1 millisecond' AND clock_timestamp();
  IF FOUND OR EXISTS (SELECT FROM maintenance_tasks WHERE task = name) THEN
    RETURN FOUND;
  END IF;
  -- The table was emptied.
  INSERT INTO maintenance_tasks (task, done_at) VALUES (name, clock_timestamp()) ON CONFLICT DO NOTHING;
  RETURN FOUND;
END $$;

-- Exists from the start: on a full disk Postgres can update this row but not insert it, and the drop frees space.
INSERT INTO maintenance_tasks (task, done_at) VALUES ('drop a partition', 'epoch');

-- Drops a partition if it is small or if the task is due. The drop blocks readers and writers of the parent. Returns
-- the size that was dropped ('small', 'large'), 'missing' if there is no such partition, or 'deferred'.
CREATE FUNCTION gwk_drop_partition(name text, small_bytes bigint, interval_ms integer) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  small boolean;
BEGIN
  IF to_regclass(name) IS NULL THEN
    RETURN 'missing';
  END IF;
  small := pg_total_relation_size(name::regclass) < small_bytes;
  IF NOT small AND NOT gwk_start_task('drop a partition', interval_ms) THEN
    RETURN 'deferred';
  END IF;
  EXECUTE format('DROP TABLE %s', name::regclass);
  RETURN CASE WHEN small THEN 'small' ELSE 'large' END;
END $$;

-- Keeps rows whose day has no partition, because of a wrong clock or a worker that was stopped for a week.
CREATE TABLE messages_default PARTITION OF messages DEFAULT;
CREATE TABLE events_default PARTITION OF events DEFAULT;
CREATE TABLE webhook_deliveries_default PARTITION OF webhook_deliveries DEFAULT;

-- ------------------------------------------------------------------ days of conversations

-- Day (UTC) of an id, counted from 1970-01-01. Accepts any UUID version, as partitions do.
CREATE FUNCTION gwk_id_day(id uuid) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 86400000)::integer
$$;

-- Merges days into the days of a conversation, ascending and distinct. A transaction that writes a message locks the
-- conversation and adds the message's day, so lists skip all other days.
--
-- At each multiple of 16 days, days before the oldest message are removed. The oldest partition or the oldest row of
-- the default partition decides, because retention is a setting of the workers and may change.
CREATE FUNCTION gwk_merge_days(current_days integer[], added_days integer[]) RETURNS integer[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
  days integer[] := current_days || added_days;
  oldest integer;
BEGIN
  -- Days can arrive out of order: clocks differ, and contacts are merged.
  IF (current_days[cardinality(current_days)] < added_days[1]) IS NOT TRUE THEN
    days := ARRAY(SELECT DISTINCT d FROM unnest(days) AS d ORDER BY d);
  END IF;
  IF cardinality(days) % 16 = 0 THEN
    oldest := LEAST(
      (SELECT to_date(right(c.relname, 8), 'YYYYMMDD') - DATE '1970-01-01' FROM pg_class c
       WHERE c.relname > 'messages_' AND c.relname ~ '^messages_[0-9]{8}$' ORDER BY c.relname LIMIT 1),
      (SELECT gwk_id_day(m.id) FROM messages_default m ORDER BY m.id LIMIT 1),
      -- The calling statement may be the one that writes this day.
      added_days[1]);
    days := ARRAY(SELECT d FROM unnest(days) AS d WHERE d >= oldest ORDER BY d);
  END IF;
  RETURN days;
END $$;

-- ------------------------------------------------------------------ indexes, checks and storage settings

CREATE INDEX audit_entries_unreported_idx ON audit_entries (id) WHERE reported_at IS NULL;
CREATE UNIQUE INDEX instances_name_key ON instances (account_id, name) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX instances_resource_key ON instances (resource_namespace, resource_name) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX instance_states_current_key ON instance_states (instance_id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX instance_suspensions_current_key ON instance_suspensions (instance_id) WHERE ended_at IS NULL;
-- Indexed by id bucket instead of id. Entries of one bucket share a key and take 6 bytes instead of 44; readers sort
-- the rows of a bucket. Whole ids would also leave half of each index page empty
-- (docs/decisions/0027-index-messages-by-time.md).
CREATE INDEX messages_account_idx ON messages (account_id, gwk_id_bucket_256ms(id));
CREATE INDEX messages_instance_idx ON messages (instance_id, gwk_id_bucket_256ms(id));
CREATE INDEX messages_conversation_idx ON messages (conversation_id, gwk_id_bucket_4s(id));
CREATE INDEX messages_network_id_idx ON messages (gwk_hash_high(wa_message_id), gwk_hash_low(wa_message_id));
-- Sequence numbers in groups of 16, for the same reason.
CREATE INDEX outbox_seq_idx ON outbox (conversation_id, (seq >> 4));
-- No index of messages uses a column that changes while a message is sent, so Postgres updates those rows in place
-- (HOT). `failed_at` is the exception, because few messages fail. Unfinished messages are found in outbox
-- (docs/decisions/0022-keep-status-updates-off-the-indexes.md).
CREATE INDEX messages_failed_idx ON messages (account_id, id) WHERE failed_at IS NOT NULL;
CREATE UNIQUE INDEX outbox_head_key ON outbox (conversation_id) WHERE head;
CREATE INDEX outbox_head_since_idx ON outbox (instance_id, head_since) WHERE head;
CREATE INDEX outbox_claims_idx ON outbox (instance_id, claim_id) WHERE claim_id IS NOT NULL;
CREATE INDEX outbox_releases_idx ON outbox (release_at) WHERE release_at IS NOT NULL;
CREATE INDEX message_contents_deletions_idx ON message_contents (delete_at) WHERE delete_at IS NOT NULL;
CREATE INDEX outbox_unprepared_idx ON outbox (instance_id, created_at) WHERE NOT prepared;
CREATE INDEX conversations_new_contacts_idx ON conversations (instance_id, first_sent_at, first_sent_no)
  WHERE first_sent_at IS NOT NULL;
CREATE INDEX webhook_deliveries_failed_idx ON webhook_deliveries (endpoint_id, id) WHERE status = 'failed';

ALTER TABLE instances
  ADD CHECK (kind IN ('web', 'sandbox')),
  ADD CHECK (state IN ('pending_pair', 'connecting', 'connected', 'disconnected', 'logged_out', 'banned')),
  ADD CHECK (interactive_mode IN ('native', 'native+text', 'text'));
ALTER TABLE messages
  ADD CHECK (direction IN ('outbound', 'inbound')),
  ADD CHECK (status IN ('queued', 'sending', 'sent', 'delivered', 'read', 'failed'));
ALTER TABLE pairing_sessions ADD CHECK (method IN ('qr', 'code')), ADD CHECK (state IN ('pairing', 'closed'));
ALTER TABLE outbox
  ADD CHECK (state IN ('scheduled', 'waiting', 'claimed')),
  ADD CHECK ((state = 'scheduled') = (seq IS NULL)),
  ADD CHECK (NOT head OR state <> 'scheduled');
ALTER TABLE idempotency_records ADD CHECK (response_sealed IS NULL OR account_id IS NOT NULL);
ALTER TABLE conversations ADD CHECK ((contact_id IS NULL) <> (group_id IS NULL)), ALTER COLUMN days SET NOT NULL;
ALTER TABLE webhook_deliveries ADD CHECK (status IN ('pending', 'succeeded', 'failed'));

-- Queues change constantly: vacuum them early, and keep free space for updates in place.
ALTER TABLE outbox SET (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
ALTER TABLE webhook_queue SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
ALTER TABLE conversations SET (fillfactor = 80);
ALTER TABLE instance_counters SET (fillfactor = 50);
ALTER TABLE engine_calls SET (fillfactor = 50);
SELECT gwk_tune_autovacuum(relation)
FROM unnest(ARRAY['message_contents', 'outbox', 'idempotency_records', 'mass_sends', 'messages_default']::regclass[]) AS relation;
-- Vacuum would summarize these indexes. A search for expired rows reads every block range without a summary.
ALTER INDEX idempotency_records_expires_at_idx SET (autosummarize = on);
ALTER INDEX mass_sends_at_idx SET (autosummarize = on);
SELECT gwk_ensure_partitions(parent, (now() AT TIME ZONE 'UTC')::date - 1, (now() AT TIME ZONE 'UTC')::date + 7)
FROM unnest(ARRAY['messages', 'events', 'webhook_deliveries']) AS parent;

-- ------------------------------------------------------------------ events

-- Writes events, and a pending delivery for every endpoint that subscribes to them. It runs in the transaction of the
-- change that the events report, so an event exists if and only if its change does. `by_default`: endpoints without
-- event types receive this type.
CREATE FUNCTION gwk_emit(
  ids uuid[], account_ids uuid[], instance_ids uuid[], types text[], by_default boolean[],
  timestamps timestamptz[], data bytea[]
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  deliveries integer;
BEGIN
  INSERT INTO events (id, account_id, instance_id, type, "timestamp", data_sealed)
  SELECT * FROM unnest(ids, account_ids, instance_ids, types, timestamps, data);

  WITH matching AS (
    SELECT gwk_new_id() AS delivery_id, d.id AS endpoint_id, d.account_id, e.event_id, e.instance_id, e.type
    FROM unnest(ids, account_ids, instance_ids, types, by_default)
      AS e(event_id, account_id, instance_id, type, is_default)
    JOIN webhook_endpoints d ON d.account_id = e.account_id AND d.enabled
    WHERE (e.type = ANY (d.event_types) OR (d.event_types = '{}' AND e.is_default))
      AND (e.instance_id IS NULL
        OR NOT EXISTS (SELECT FROM webhook_endpoint_instances r WHERE r.endpoint_id = d.id)
        OR EXISTS (SELECT FROM webhook_endpoint_instances r
                   WHERE r.endpoint_id = d.id AND r.instance_id = e.instance_id))
  ), logged AS (
    INSERT INTO webhook_deliveries
      (id, account_id, endpoint_id, event_id, instance_id, event_type, status, next_attempt_at, created_at)
    SELECT delivery_id, account_id, endpoint_id, event_id, instance_id, type, 'pending', now(), now() FROM matching
  )
  INSERT INTO webhook_queue (delivery_id, endpoint_id, event_id, due_at)
  SELECT delivery_id, endpoint_id, event_id, now() FROM matching;
  GET DIAGNOSTICS deliveries = ROW_COUNT;
  RETURN deliveries;
END $$;

-- gwk_emit for events as JSON (eventItem in api/src/events/emit.ts), limited to messages that changed.
CREATE FUNCTION gwk_emit_items(events jsonb, changed uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gwk_emit(
    array_agg(e.id ORDER BY e.id), array_agg(e.account_id ORDER BY e.id), array_agg(e.instance_id ORDER BY e.id),
    array_agg(e.type ORDER BY e.id), array_agg(e.by_default ORDER BY e.id), array_agg(e.at ORDER BY e.id),
    array_agg(decode(e.data, 'base64') ORDER BY e.id))
  FROM jsonb_to_recordset(events) AS e(
    message_id uuid, id uuid, account_id uuid, instance_id uuid, type text, by_default boolean, at timestamptz,
    data text)
  WHERE e.message_id = ANY (changed)
  HAVING count(*) > 0;
END $$;
