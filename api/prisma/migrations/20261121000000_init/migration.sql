-- Tables of schema.prisma with checks; below them, the rest that a Prisma schema cannot express. Functions are in
-- api/src/**/*.sql. Rows that change often have a fillfactor, which keeps free space for updates in place.

CREATE TABLE "key_checks" (
    "key_id" TEXT PRIMARY KEY,
    "sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE "accounts" (
    "id" UUID PRIMARY KEY,
    "name" TEXT NOT NULL UNIQUE,
    "max_instances" INTEGER,
    "requests_per_minute" INTEGER,
    "max_media_bytes" BIGINT,
    "max_media_files" INTEGER,
    "max_event_bytes" BIGINT,
    "policy" JSONB NOT NULL DEFAULT '{}',
    "policy_version" INTEGER NOT NULL DEFAULT 1,
    "namespaces" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "suspended_at" TIMESTAMPTZ(3),
    "requires_mfa" BOOLEAN NOT NULL DEFAULT false,
    "passkeys" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE "account_usage" (
    "account_id" UUID PRIMARY KEY REFERENCES "accounts" ON DELETE CASCADE ON UPDATE CASCADE,
    "media_bytes" BIGINT NOT NULL DEFAULT 0,
    "media_files" INTEGER NOT NULL DEFAULT 0,
    "events" BIGINT NOT NULL DEFAULT 0,
    "event_bytes" BIGINT NOT NULL DEFAULT 0,
    "recounted_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
) WITH (fillfactor = 50);

CREATE TABLE "account_event_days" (
    "account_id" UUID NOT NULL REFERENCES "accounts" ON DELETE CASCADE ON UPDATE CASCADE,
    "day" DATE NOT NULL,
    "events" BIGINT NOT NULL,
    "bytes" BIGINT NOT NULL,
    PRIMARY KEY ("account_id", "day")
);

CREATE TABLE "account_traffic_hours" (
    "account_id" UUID NOT NULL REFERENCES "accounts" ON DELETE CASCADE ON UPDATE CASCADE,
    "start" TIMESTAMPTZ(3) NOT NULL,
    "sent" INTEGER NOT NULL DEFAULT 0,
    "failed" INTEGER NOT NULL DEFAULT 0,
    "received" INTEGER NOT NULL DEFAULT 0,
    "delivered" INTEGER NOT NULL DEFAULT 0,
    "read" INTEGER NOT NULL DEFAULT 0,
    "webhooks_succeeded" INTEGER NOT NULL DEFAULT 0,
    "webhooks_failed" INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY ("account_id", "start")
);

CREATE TABLE "api_keys" (
    "id" UUID PRIMARY KEY,
    "account_id" UUID NOT NULL REFERENCES "accounts" ON DELETE CASCADE ON UPDATE CASCADE,
    "name" TEXT NOT NULL,
    "hash" BYTEA NOT NULL UNIQUE,
    "scopes" TEXT[],
    "restricted" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3)
);

CREATE TABLE "audit_entries" (
    "id" UUID PRIMARY KEY,
    "account_id" UUID,
    "actor" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "detail" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "reported_at" TIMESTAMPTZ(3)
);

CREATE TABLE "instances" (
    "id" UUID PRIMARY KEY,
    "account_id" UUID NOT NULL REFERENCES "accounts" ON DELETE CASCADE ON UPDATE CASCADE,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL CHECK (kind IN ('web', 'sandbox')),
    "environment" TEXT NOT NULL,
    "interactive_mode" TEXT NOT NULL CHECK (interactive_mode IN ('native', 'native+text', 'text')),
    "on_other_account" TEXT NOT NULL DEFAULT 'refuse' CHECK (on_other_account IN ('refuse', 'accept')),
    "policy" JSONB NOT NULL DEFAULT '{}',
    "suspended" BOOLEAN NOT NULL DEFAULT false,
    "resource_namespace" TEXT NOT NULL,
    "resource_name" TEXT NOT NULL,
    "resource_uid" TEXT NOT NULL,
    "resource_generation" BIGINT NOT NULL,
    "state" TEXT NOT NULL CHECK (state IN ('pending_pair', 'connecting', 'connected', 'disconnected', 'logged_out', 'banned')),
    "state_reason" TEXT,
    "state_changed_at" TIMESTAMPTZ(3) NOT NULL,
    "offline_ms" BIGINT NOT NULL DEFAULT 0,
    "jid" TEXT,
    "lid" TEXT,
    "business_name" TEXT,
    "last_jid" TEXT,
    "last_lid" TEXT,
    "other_account_at" TIMESTAMPTZ(3),
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
    "deleted_at" TIMESTAMPTZ(3)
);

CREATE TABLE "api_key_instances" (
    "api_key_id" UUID NOT NULL REFERENCES "api_keys" ON DELETE CASCADE ON UPDATE CASCADE,
    "instance_id" UUID NOT NULL REFERENCES "instances" ON DELETE CASCADE ON UPDATE CASCADE,
    PRIMARY KEY ("api_key_id", "instance_id")
);

CREATE TABLE "users" (
    "id" UUID PRIMARY KEY,
    "email" TEXT NOT NULL UNIQUE CHECK (email = lower(email)),
    "name" TEXT NOT NULL,
    "language" TEXT NOT NULL DEFAULT 'pt-BR' CHECK (language IN ('pt-BR', 'en')),
    "is_platform_admin" BOOLEAN NOT NULL DEFAULT false,
    "password_hash" TEXT,
    "totp_sealed" BYTEA,
    "totp_started_at" TIMESTAMPTZ(3),
    "totp_confirmed_at" TIMESTAMPTZ(3),
    "totp_step" BIGINT NOT NULL DEFAULT 0,
    "factor_set_up_until" TIMESTAMPTZ(3),
    "lock_mailed_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CHECK (totp_confirmed_at IS NULL OR totp_sealed IS NOT NULL)
);

CREATE TABLE "members" (
    "account_id" UUID NOT NULL REFERENCES "accounts" ON DELETE CASCADE ON UPDATE CASCADE,
    "user_id" UUID NOT NULL REFERENCES "users" ON DELETE CASCADE ON UPDATE CASCADE,
    "role" TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'developer', 'agent', 'viewer')),
    "restricted" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY ("account_id", "user_id")
);

CREATE TABLE "member_instances" (
    "account_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "instance_id" UUID NOT NULL REFERENCES "instances" ON DELETE CASCADE ON UPDATE CASCADE,
    PRIMARY KEY ("account_id", "user_id", "instance_id"),
    FOREIGN KEY ("account_id", "user_id") REFERENCES "members" ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE "user_sessions" (
    "id" UUID PRIMARY KEY,
    "user_id" UUID NOT NULL REFERENCES "users" ON DELETE CASCADE ON UPDATE CASCADE,
    "token_hash" BYTEA NOT NULL UNIQUE,
    "pending" BOOLEAN NOT NULL DEFAULT false,
    "by_password" BOOLEAN NOT NULL DEFAULT false,
    "address" TEXT NOT NULL,
    "user_agent" TEXT NOT NULL,
    "visited_accounts" UUID[] DEFAULT ARRAY[]::UUID[],
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL
) WITH (fillfactor = 80);

CREATE TABLE "known_devices" (
    "token_hash" BYTEA NOT NULL,
    "user_id" UUID NOT NULL REFERENCES "users" ON DELETE CASCADE ON UPDATE CASCADE,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    PRIMARY KEY ("token_hash", "user_id")
);

CREATE TABLE "sign_in_failures" (
    "id" UUID PRIMARY KEY,
    "subject" BYTEA NOT NULL,
    "address" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL
);

CREATE TABLE "handoffs" (
    "id" UUID PRIMARY KEY,
    "user_id" UUID NOT NULL REFERENCES "users" ON DELETE CASCADE ON UPDATE CASCADE,
    "purpose" TEXT NOT NULL DEFAULT 'sign-in',
    "token_hash" BYTEA NOT NULL UNIQUE,
    "expires_at" TIMESTAMPTZ(3) NOT NULL
);

CREATE TABLE "invitations" (
    "id" UUID PRIMARY KEY,
    "account_id" UUID NOT NULL REFERENCES "accounts" ON DELETE CASCADE ON UPDATE CASCADE,
    "email" TEXT NOT NULL CHECK (email = lower(email)),
    "role" TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'developer', 'agent', 'viewer')),
    "restricted" BOOLEAN NOT NULL DEFAULT false,
    "instance_ids" UUID[],
    "token_hash" BYTEA NOT NULL UNIQUE,
    "emailed_hash" BYTEA UNIQUE,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL
);

CREATE TABLE "backup_codes" (
    "user_id" UUID NOT NULL REFERENCES "users" ON DELETE CASCADE ON UPDATE CASCADE,
    "hash" BYTEA NOT NULL,
    PRIMARY KEY ("user_id", "hash")
);

CREATE TABLE "alert_contacts" (
    "id" UUID PRIMARY KEY,
    "account_id" UUID NOT NULL REFERENCES "accounts" ON DELETE CASCADE ON UPDATE CASCADE,
    "name" TEXT NOT NULL,
    "channel" TEXT NOT NULL CHECK (channel IN ('email', 'whatsapp')),
    "address" TEXT NOT NULL CHECK (address = lower(address)),
    "language" TEXT NOT NULL CHECK (language IN ('pt-BR', 'en')),
    "code_hash" BYTEA,
    "code_expires_at" TIMESTAMPTZ(3),
    "code_attempts" INTEGER NOT NULL DEFAULT 0,
    "verified_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE "alert_incidents" (
    "id" UUID PRIMARY KEY,
    "account_id" UUID NOT NULL REFERENCES "accounts" ON DELETE CASCADE ON UPDATE CASCADE,
    "kind" TEXT NOT NULL CHECK (kind IN ('logged_out', 'banned', 'down', 'webhook_disabled')),
    "subject" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE "alert_notices" (
    "id" UUID PRIMARY KEY,
    "incident_id" UUID NOT NULL REFERENCES "alert_incidents" ON DELETE CASCADE ON UPDATE CASCADE,
    "contact_id" UUID NOT NULL REFERENCES "alert_contacts" ON DELETE CASCADE ON UPDATE CASCADE,
    "phase" TEXT NOT NULL CHECK (phase IN ('begin', 'end')),
    "status" TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'sent', 'failed')),
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "locked_until" TIMESTAMPTZ(3),
    "sender_id" UUID,
    "finished_at" TIMESTAMPTZ(3)
);

CREATE TABLE "passkeys" (
    "id" UUID PRIMARY KEY,
    "user_id" UUID NOT NULL REFERENCES "users" ON DELETE CASCADE ON UPDATE CASCADE,
    "name" TEXT NOT NULL,
    "credential_id" BYTEA NOT NULL UNIQUE,
    "public_key" BYTEA NOT NULL,
    "counter" BIGINT NOT NULL,
    "transports" TEXT[],
    "rp_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3)
);

CREATE TABLE "user_identities" (
    "issuer" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "user_id" UUID NOT NULL REFERENCES "users" ON DELETE CASCADE ON UPDATE CASCADE,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY ("issuer", "subject")
);

CREATE TABLE "provider_sign_ins" (
    "id" UUID PRIMARY KEY,
    "token_hash" BYTEA NOT NULL UNIQUE,
    "expires_at" TIMESTAMPTZ(3) NOT NULL
);

CREATE TABLE "passkey_challenges" (
    "id" UUID PRIMARY KEY,
    "challenge" BYTEA NOT NULL UNIQUE,
    "kind" TEXT NOT NULL CHECK (kind IN ('registration', 'sign-in', 'second-factor')),
    "session_id" UUID REFERENCES "user_sessions" ON DELETE CASCADE ON UPDATE CASCADE,
    "expires_at" TIMESTAMPTZ(3) NOT NULL
);

CREATE TABLE "instance_leases" (
    "instance_id" UUID PRIMARY KEY REFERENCES "instances" ON DELETE CASCADE ON UPDATE CASCADE,
    "epoch" INTEGER NOT NULL DEFAULT 0,
    "holder" UUID,
    "token_id" UUID,
    "pod" TEXT,
    "version" TEXT,
    "renewed_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3)
);

CREATE TABLE "engine_tokens" (
    "id" UUID PRIMARY KEY,
    "instance_id" UUID NOT NULL REFERENCES "instances" ON DELETE CASCADE ON UPDATE CASCADE,
    "pod" TEXT NOT NULL,
    "hash" BYTEA NOT NULL UNIQUE,
    "issued_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(3)
);

CREATE TABLE "instance_states" (
    "id" UUID PRIMARY KEY,
    "instance_id" UUID NOT NULL REFERENCES "instances" ON DELETE CASCADE ON UPDATE CASCADE,
    "state" TEXT NOT NULL,
    "reason" TEXT,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3)
);

CREATE TABLE "instance_suspensions" (
    "id" UUID PRIMARY KEY,
    "instance_id" UUID NOT NULL REFERENCES "instances" ON DELETE CASCADE ON UPDATE CASCADE,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3)
);

CREATE TABLE "session_keys" (
    "instance_id" UUID NOT NULL REFERENCES "instances" ON DELETE CASCADE ON UPDATE CASCADE,
    "type" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "value_sealed" BYTEA NOT NULL,
    PRIMARY KEY ("instance_id", "type", "key")
);

CREATE TABLE "pairing_sessions" (
    "instance_id" UUID PRIMARY KEY REFERENCES "instances" ON DELETE CASCADE ON UPDATE CASCADE,
    "id" UUID NOT NULL,
    "method" TEXT NOT NULL CHECK (method IN ('qr', 'code')),
    "phone_sealed" BYTEA,
    "state" TEXT NOT NULL CHECK (state IN ('pairing', 'closed')),
    "code_sealed" BYTEA,
    "qr_count" INTEGER NOT NULL DEFAULT 0,
    "expires_at" TIMESTAMPTZ(3),
    "passkeys" BOOLEAN NOT NULL DEFAULT false,
    "passkey_sealed" BYTEA,
    "passkey_count" INTEGER NOT NULL DEFAULT 0,
    "passkey_expires_at" TIMESTAMPTZ(3),
    "owner" TEXT,
    "owner_address" TEXT,
    "error" TEXT,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE "expiring_codes" (
    "id" UUID PRIMARY KEY,
    "account_id" UUID NOT NULL,
    "event_id" UUID,
    "record_id" UUID,
    "replacement_sealed" BYTEA NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL
);

CREATE TABLE "contact_checks" (
    "instance_id" UUID NOT NULL REFERENCES "instances" ON DELETE CASCADE ON UPDATE CASCADE,
    "name" TEXT NOT NULL,
    "jid" TEXT,
    "lid" TEXT,
    "checked_at" TIMESTAMPTZ(3) NOT NULL,
    PRIMARY KEY ("instance_id", "name")
);

CREATE TABLE "contacts" (
    "id" UUID PRIMARY KEY,
    "account_id" UUID NOT NULL REFERENCES "accounts" ON DELETE CASCADE ON UPDATE CASCADE,
    "name" TEXT
);

CREATE TABLE "contact_names" (
    "account_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "contact_id" UUID NOT NULL REFERENCES "contacts" ON DELETE CASCADE ON UPDATE CASCADE,
    "phone" TEXT,
    "linked_at" TIMESTAMPTZ(3),
    "username" TEXT CHECK (username ~ '^[A-Za-z0-9._]{3,35}$'),
    "username_at" TIMESTAMPTZ(3),
    PRIMARY KEY ("account_id", "name")
);

CREATE TABLE "conversations" (
    "id" UUID PRIMARY KEY,
    "instance_id" UUID NOT NULL REFERENCES "instances" ON DELETE CASCADE ON UPDATE CASCADE,
    "contact_id" UUID REFERENCES "contacts" ON DELETE CASCADE ON UPDATE CASCADE,
    "group_id" TEXT,
    "lid" TEXT,
    "phone" TEXT,
    "username" TEXT CHECK (username ~ '^[A-Za-z0-9._]{3,35}$'),
    "last_seq" BIGINT NOT NULL DEFAULT 0,
    "first_sent_at" TIMESTAMPTZ(3),
    "first_sent_no" BIGINT,
    "last_wrote_at" TIMESTAMPTZ(3),
    "timer_s" INTEGER,
    "timer_set_at" TIMESTAMPTZ(3),
    "days" INTEGER[] NOT NULL DEFAULT ARRAY[]::INTEGER[],
    "subject" TEXT,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_message_id" UUID,
    "unread" INTEGER NOT NULL DEFAULT 0,
    CHECK ((contact_id IS NULL) <> (group_id IS NULL))
) WITH (fillfactor = 80);

CREATE TABLE "opt_outs" (
    "id" UUID PRIMARY KEY,
    "contact_id" UUID NOT NULL REFERENCES "contacts" ON DELETE CASCADE ON UPDATE CASCADE,
    "account_id" UUID NOT NULL REFERENCES "accounts" ON DELETE CASCADE ON UPDATE CASCADE,
    "sandbox_id" UUID,
    "resumed" BOOLEAN NOT NULL DEFAULT false,
    "phone" TEXT,
    "by_phone" BOOLEAN NOT NULL DEFAULT false,
    "source" TEXT NOT NULL,
    "keyword" TEXT,
    "instance_id" UUID,
    "unfinished" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE "engine_calls" (
    "instance_id" UUID NOT NULL REFERENCES "instances" ON DELETE CASCADE ON UPDATE CASCADE,
    "route" TEXT NOT NULL,
    "epoch" INTEGER NOT NULL,
    "number" BIGINT NOT NULL,
    PRIMARY KEY ("instance_id", "route")
) WITH (fillfactor = 50);

CREATE TABLE "instance_counters" (
    "instance_id" UUID PRIMARY KEY REFERENCES "instances" ON DELETE CASCADE ON UPDATE CASCADE,
    "new_contacts" BIGINT NOT NULL DEFAULT 0,
    "texts" BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE "mass_sends" (
    "fingerprint" UUID NOT NULL,
    "contact_id" UUID NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    PRIMARY KEY ("fingerprint", "contact_id")
);

CREATE TABLE "messages" (
    "id" UUID PRIMARY KEY,
    "account_id" UUID NOT NULL,
    "instance_id" UUID NOT NULL,
    "conversation_id" UUID NOT NULL,
    "direction" TEXT NOT NULL CHECK (direction IN ('outbound', 'inbound')),
    "to" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "status" TEXT NOT NULL CHECK (status IN ('queued', 'sending', 'sent', 'delivered', 'read', 'failed')),
    "wa_message_id" TEXT,
    "participant" TEXT,
    "list" TEXT,
    "by_phone" BOOLEAN NOT NULL DEFAULT false,
    "rendered_as" TEXT,
    "error_code" TEXT,
    "error_message" TEXT,
    "played" BOOLEAN NOT NULL DEFAULT false,
    "deleted_for_all" BOOLEAN NOT NULL DEFAULT false,
    "edit_event_id" UUID,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "scheduled_for" TIMESTAMPTZ(3),
    "sent_at" TIMESTAMPTZ(3),
    "delivered_at" TIMESTAMPTZ(3),
    "read_at" TIMESTAMPTZ(3),
    "failed_at" TIMESTAMPTZ(3),
    "updated_at" TIMESTAMPTZ(3) NOT NULL
) PARTITION BY RANGE ("id");

CREATE TABLE "inbound_seen" (
    "conversation_id" UUID NOT NULL REFERENCES "conversations" ON DELETE CASCADE ON UPDATE CASCADE,
    "participant" TEXT NOT NULL,
    "wa_message_id" TEXT NOT NULL,
    "message_id" UUID NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY ("conversation_id", "participant", "wa_message_id")
);

CREATE TABLE "notices_seen" (
    "instance_id" UUID NOT NULL REFERENCES "instances" ON DELETE CASCADE ON UPDATE CASCADE,
    "name" TEXT NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY ("instance_id", "name")
);

CREATE TABLE "message_contents" (
    "message_id" UUID PRIMARY KEY,
    "instance_id" UUID NOT NULL,
    "content_sealed" BYTEA NOT NULL,
    "built_sealed" BYTEA,
    "delete_at" TIMESTAMPTZ(3)
);

CREATE TABLE "message_cards" (
    "message_id" UUID PRIMARY KEY,
    "instance_id" UUID NOT NULL,
    "card_sealed" BYTEA NOT NULL
);

-- A queue: changes constantly, so vacuum starts early.
CREATE TABLE "outbox" (
    "message_id" UUID PRIMARY KEY,
    "instance_id" UUID NOT NULL,
    "conversation_id" UUID NOT NULL,
    "seq" BIGINT CHECK ((state = 'scheduled') = (seq IS NULL)),
    "state" TEXT NOT NULL CHECK (state IN ('scheduled', 'waiting', 'claimed')),
    "head" BOOLEAN NOT NULL DEFAULT false CHECK (NOT head OR state <> 'scheduled'),
    "head_since" TIMESTAMPTZ(3),
    "prepared" BOOLEAN NOT NULL DEFAULT true,
    "prepare_at" TIMESTAMPTZ(3),
    "prepare_attempts" INTEGER NOT NULL DEFAULT 0,
    "prepare_host" TEXT,
    "release_at" TIMESTAMPTZ(3),
    "offline_ms_at_start" BIGINT NOT NULL,
    "claim_id" UUID,
    "claim_epoch" INTEGER,
    "claim_holder" UUID,
    "claimed_at" TIMESTAMPTZ(3),
    "attempted_at" TIMESTAMPTZ(3),
    "notified_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

CREATE TABLE "menus" (
    "message_id" UUID PRIMARY KEY,
    "conversation_id" UUID NOT NULL REFERENCES "conversations" ON DELETE CASCADE ON UPDATE CASCADE,
    "instance_id" UUID NOT NULL,
    "wa_message_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "mode" TEXT NOT NULL,
    "options_sealed" BYTEA NOT NULL,
    "sent_at" TIMESTAMPTZ(3),
    "answered_at" TIMESTAMPTZ(3),
    "delete_at" TIMESTAMPTZ(3) NOT NULL
);

CREATE TABLE "poll_votes" (
    "message_id" UUID NOT NULL REFERENCES "menus" ON DELETE CASCADE ON UPDATE CASCADE,
    "voter" TEXT NOT NULL,
    "chosen" INTEGER[],
    PRIMARY KEY ("message_id", "voter")
);

CREATE TABLE "media" (
    "id" UUID PRIMARY KEY,
    "account_id" UUID NOT NULL REFERENCES "accounts" ON DELETE CASCADE ON UPDATE CASCADE,
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
    "removed_at" TIMESTAMPTZ(3)
);

CREATE TABLE "decoded_files" (
    "id" UUID PRIMARY KEY,
    "account_id" UUID NOT NULL REFERENCES "accounts" ON DELETE CASCADE ON UPDATE CASCADE,
    "sha256" BYTEA NOT NULL,
    "plan" TEXT NOT NULL,
    "answer_sealed" BYTEA CHECK ((answer_sealed IS NULL) <> (refused IS NULL)),
    "converted_id" UUID,
    "refused" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL
);

CREATE TABLE "store_removals" (
    "store_key" TEXT PRIMARY KEY,
    "due_at" TIMESTAMPTZ(3) NOT NULL
);

CREATE TABLE "maintenance_tasks" (
    "task" TEXT PRIMARY KEY,
    "done_at" TIMESTAMPTZ(3) NOT NULL
);

CREATE TABLE "idempotency_records" (
    "id" UUID PRIMARY KEY,
    "account_id" UUID,
    "body_hash" BYTEA NOT NULL,
    "instance_id" UUID,
    "resource_id" UUID,
    "status" INTEGER,
    "response_sealed" BYTEA CHECK (response_sealed IS NULL OR account_id IS NOT NULL),
    "locked_until" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3) NOT NULL
);

-- One row. The position of an event is the number of its transaction plus this shift.
CREATE TABLE "event_position_shift" (
    "id" INTEGER PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    "shift" BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE "events" (
    "id" UUID PRIMARY KEY,
    "account_id" UUID NOT NULL,
    "instance_id" UUID,
    "type" TEXT NOT NULL,
    "timestamp" TIMESTAMPTZ(3) NOT NULL,
    "data_sealed" BYTEA NOT NULL,
    "position" BIGINT NOT NULL,
    "conversation_id" UUID
) PARTITION BY RANGE ("id");

CREATE TABLE "webhook_endpoints" (
    "id" UUID PRIMARY KEY,
    "account_id" UUID NOT NULL REFERENCES "accounts" ON DELETE CASCADE ON UPDATE CASCADE,
    "url" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "event_types" TEXT[],
    "header_names" TEXT[],
    "headers_sealed" BYTEA,
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "disabled_reason" TEXT,
    "disabled_at" TIMESTAMPTZ(3),
    "failing_since" TIMESTAMPTZ(3),
    "last_failed_at" TIMESTAMPTZ(3),
    "last_error" TEXT,
    "last_error_at" TIMESTAMPTZ(3),
    "codes_granted_by" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE "webhook_endpoint_instances" (
    "endpoint_id" UUID NOT NULL REFERENCES "webhook_endpoints" ON DELETE CASCADE ON UPDATE CASCADE,
    "instance_id" UUID NOT NULL REFERENCES "instances" ON DELETE CASCADE ON UPDATE CASCADE,
    PRIMARY KEY ("endpoint_id", "instance_id")
);

CREATE TABLE "webhook_secrets" (
    "id" UUID PRIMARY KEY,
    "endpoint_id" UUID NOT NULL REFERENCES "webhook_endpoints" ON DELETE CASCADE ON UPDATE CASCADE,
    "secret_sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3)
);

CREATE TABLE "webhook_deliveries" (
    "id" UUID PRIMARY KEY,
    "account_id" UUID NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "event_id" UUID NOT NULL,
    "instance_id" UUID,
    "message_id" UUID,
    "event_type" TEXT NOT NULL,
    "status" TEXT NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3),
    "last_status_code" INTEGER,
    "last_error" TEXT,
    "last_latency_ms" INTEGER,
    "last_response_sealed" BYTEA,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "delivered_at" TIMESTAMPTZ(3)
) PARTITION BY RANGE ("id");

-- A queue, like outbox.
CREATE TABLE "webhook_queue" (
    "delivery_id" UUID PRIMARY KEY,
    "endpoint_id" UUID NOT NULL,
    "event_id" UUID NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "locked_until" TIMESTAMPTZ(3),
    "locked_by" UUID
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

CREATE TABLE "webhook_resends" (
    "id" UUID PRIMARY KEY,
    "endpoint_id" UUID NOT NULL REFERENCES "webhook_endpoints" ON DELETE CASCADE ON UPDATE CASCADE,
    "after_id" UUID NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,
    "restricted" BOOLEAN NOT NULL DEFAULT false,
    "instance_ids" UUID[],
    "touched_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE "format_checks" (
    "id" UUID PRIMARY KEY,
    "format" TEXT NOT NULL,
    "message_id" UUID NOT NULL,
    "result" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "checked_at" TIMESTAMPTZ(3)
);

CREATE TABLE "device_checks" (
    "format" TEXT NOT NULL,
    "device" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "note" TEXT,
    "app_version" TEXT,
    "checked_at" TIMESTAMPTZ(3) NOT NULL,
    "checked_by" TEXT,
    PRIMARY KEY ("format", "device")
);

-- Client versions that engines have announced to the network, and what became of them.
CREATE TABLE "client_versions" (
    "version" TEXT PRIMARY KEY,
    "served_at" TIMESTAMPTZ(3),
    "accepted_at" TIMESTAMPTZ(3),
    "refused_at" TIMESTAMPTZ(3)
);

-- One row: the version that engines follow.
CREATE TABLE "client_version_state" (
    "only" BOOLEAN PRIMARY KEY DEFAULT true CHECK ("only"),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "pinned_version" TEXT,
    "pinned_at" TIMESTAMPTZ(3),
    "pinned_by" TEXT,
    "served_version" TEXT,
    "served_from" TEXT,
    "read_at" TIMESTAMPTZ(3),
    "tried_at" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "fault" TEXT,
    "trial_version" TEXT,
    "trial_instance" UUID,
    "trial_at" TIMESTAMPTZ(3)
);
INSERT INTO "client_version_state" DEFAULT VALUES;

CREATE TABLE "trace_contexts" (
    "id" UUID PRIMARY KEY,
    "traceparent" TEXT NOT NULL
);

CREATE TABLE "sql_functions" (
    "name" TEXT NOT NULL,
    "checksum" TEXT NOT NULL,
    "applied_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY ("name", "checksum")
);

CREATE INDEX "api_keys_account_id_idx" ON "api_keys"("account_id");
CREATE INDEX "api_key_instances_instance_id_idx" ON "api_key_instances"("instance_id");
CREATE INDEX "members_user_id_idx" ON "members"("user_id");
CREATE INDEX "member_instances_instance_id_idx" ON "member_instances"("instance_id");
CREATE INDEX "user_sessions_user_id_idx" ON "user_sessions"("user_id");
CREATE INDEX "user_sessions_expires_at_idx" ON "user_sessions"("expires_at");
CREATE INDEX "known_devices_user_id_idx" ON "known_devices"("user_id");
CREATE INDEX "known_devices_expires_at_idx" ON "known_devices"("expires_at");
CREATE INDEX "sign_in_failures_subject_at_idx" ON "sign_in_failures"("subject", "at");
CREATE INDEX "sign_in_failures_address_at_idx" ON "sign_in_failures"("address", "at");
CREATE INDEX "sign_in_failures_expires_at_idx" ON "sign_in_failures"("expires_at");
CREATE INDEX "handoffs_user_id_idx" ON "handoffs"("user_id");
CREATE INDEX "handoffs_expires_at_idx" ON "handoffs"("expires_at");
CREATE UNIQUE INDEX "user_identities_user_id_issuer_key" ON "user_identities"("user_id", "issuer");
CREATE INDEX "provider_sign_ins_expires_at_idx" ON "provider_sign_ins"("expires_at");
CREATE INDEX "passkeys_user_id_idx" ON "passkeys"("user_id");
CREATE INDEX "passkey_challenges_session_id_idx" ON "passkey_challenges"("session_id");
CREATE INDEX "passkey_challenges_expires_at_idx" ON "passkey_challenges"("expires_at");
CREATE UNIQUE INDEX "invitations_account_id_email_key" ON "invitations"("account_id", "email");
CREATE INDEX "invitations_expires_at_idx" ON "invitations"("expires_at");
CREATE UNIQUE INDEX "alert_contacts_account_id_channel_address_key" ON "alert_contacts"("account_id", "channel", "address");
CREATE INDEX "alert_incidents_account_id_idx" ON "alert_incidents"("account_id");
CREATE INDEX "alert_incidents_ended_at_idx" ON "alert_incidents"("ended_at");
CREATE UNIQUE INDEX "alert_incidents_open" ON "alert_incidents"("subject") WHERE ended_at IS NULL;
CREATE UNIQUE INDEX "alert_notices_incident_id_contact_id_phase_key" ON "alert_notices"("incident_id", "contact_id", "phase");
CREATE INDEX "alert_notices_contact_id_idx" ON "alert_notices"("contact_id");
CREATE INDEX "alert_notices_due" ON "alert_notices"("due_at") WHERE status = 'pending';
CREATE INDEX "audit_entries_account_id_id_idx" ON "audit_entries"("account_id", "id");
CREATE INDEX "audit_entries_actor_id_idx" ON "audit_entries"("actor", "id");
CREATE INDEX "audit_entries_subject_id_idx" ON "audit_entries"("subject", "id");
CREATE INDEX "instances_account_id_id_idx" ON "instances"("account_id", "id");
CREATE UNIQUE INDEX "instances_resource_uid_resource_namespace_resource_name_key" ON "instances"("resource_uid", "resource_namespace", "resource_name");
CREATE INDEX "instance_leases_expires_at_idx" ON "instance_leases"("expires_at");
CREATE INDEX "engine_tokens_instance_id_idx" ON "engine_tokens"("instance_id");
CREATE INDEX "instance_states_instance_id_since_idx" ON "instance_states"("instance_id", "since");
CREATE INDEX "instance_suspensions_instance_id_since_idx" ON "instance_suspensions"("instance_id", "since");
CREATE INDEX "expiring_codes_expires_at_idx" ON "expiring_codes"("expires_at");
CREATE INDEX "contacts_account_id_idx" ON "contacts"("account_id");
CREATE INDEX "contact_names_contact_id_idx" ON "contact_names"("contact_id");
CREATE INDEX "conversations_contact_id_idx" ON "conversations"("contact_id");
CREATE UNIQUE INDEX "conversations_instance_id_contact_id_key" ON "conversations"("instance_id", "contact_id");
CREATE UNIQUE INDEX "conversations_instance_id_group_id_key" ON "conversations"("instance_id", "group_id");
CREATE UNIQUE INDEX "opt_outs_contact_id_sandbox_id_key" ON "opt_outs"("contact_id", "sandbox_id");
CREATE INDEX "opt_outs_account_id_id_idx" ON "opt_outs"("account_id", "id");
-- autosummarize: a search for expired rows reads every block range that vacuum has not summarized yet.
CREATE INDEX "mass_sends_at_idx" ON "mass_sends" USING BRIN ("at") WITH (autosummarize = on);
CREATE INDEX "inbound_seen_seen_at_idx" ON "inbound_seen"("seen_at");
CREATE INDEX "notices_seen_seen_at_idx" ON "notices_seen"("seen_at");
CREATE INDEX "menus_conversation_id_message_id_idx" ON "menus"("conversation_id", "message_id");
CREATE INDEX "menus_instance_id_wa_message_id_idx" ON "menus"("instance_id", "wa_message_id");
CREATE INDEX "menus_delete_at_idx" ON "menus"("delete_at");
CREATE UNIQUE INDEX "decoded_files_account_id_sha256_plan_key" ON "decoded_files"("account_id", "sha256", "plan");
CREATE INDEX "decoded_files_expires_at_idx" ON "decoded_files"("expires_at");
CREATE INDEX "account_event_days_day_idx" ON "account_event_days"("day");
CREATE INDEX "account_traffic_hours_start_idx" ON "account_traffic_hours"("start");
CREATE INDEX "media_account_id_idx" ON "media"("account_id");
CREATE INDEX "media_expires_at_idx" ON "media"("expires_at");
CREATE INDEX "store_removals_due_at_idx" ON "store_removals"("due_at");
CREATE INDEX "idempotency_records_expires_at_idx" ON "idempotency_records" USING BRIN ("expires_at") WITH (autosummarize = on);
CREATE INDEX "events_account_id_id_idx" ON "events"("account_id", "id");
CREATE INDEX "events_instance_id_id_idx" ON "events"("instance_id", "id");
CREATE INDEX "events_account_id_type_id_idx" ON "events"("account_id", "type", "id");
CREATE INDEX "events_account_id_position_id_idx" ON "events"("account_id", "position", "id");
CREATE INDEX "webhook_endpoints_account_id_id_idx" ON "webhook_endpoints"("account_id", "id");
CREATE INDEX "webhook_endpoint_instances_instance_id_idx" ON "webhook_endpoint_instances"("instance_id");
CREATE INDEX "webhook_secrets_endpoint_id_idx" ON "webhook_secrets"("endpoint_id");
CREATE INDEX "webhook_deliveries_endpoint_id_id_idx" ON "webhook_deliveries"("endpoint_id", "id");
CREATE INDEX "webhook_deliveries_event_id_idx" ON "webhook_deliveries"("event_id");
CREATE INDEX "webhook_queue_endpoint_id_due_at_idx" ON "webhook_queue"("endpoint_id", "due_at");
CREATE INDEX "webhook_queue_due_at_idx" ON "webhook_queue"("due_at");
CREATE INDEX "webhook_resends_touched_at_idx" ON "webhook_resends"("touched_at");
CREATE INDEX "format_checks_format_started_at_idx" ON "format_checks"("format", "started_at");

-- ------------------------------------------------------------------ functions of indexes

-- Here instead of in api/src: indexes contain their results, so a changed body would need new indexes.

-- Time bucket of an id: its first 40 bits (256 ms) or 36 bits (4.096 s). Buckets sort like ids, of any UUID version.
CREATE FUNCTION gwk_id_bucket_256ms(id uuid) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT substr(uuid_send(id), 1, 5)
$$;
CREATE FUNCTION gwk_id_bucket_4s(id uuid) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT set_byte(substr(uuid_send(id), 1, 5), 4, get_byte(uuid_send(id), 4) & 240)
$$;

-- Time slot of an id: its first 32 bits (65.5 s). Within one slot, activity of a conversation changes no index.
CREATE FUNCTION gwk_id_slot(id uuid) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ('x' || left(id::text, 8))::bit(32)::integer
$$;
ALTER TABLE conversations ADD COLUMN active_slot INTEGER GENERATED ALWAYS AS (gwk_id_slot(last_message_id)) STORED;

-- Name without accents and case, for searches. Normalisation of many combining marks is slow, so the length is limited.
CREATE FUNCTION gwk_fold_name(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT lower(regexp_replace(normalize(left(value, 100), NFKD), '[\u0300-\u036f]+', '', 'g'))
$$;
ALTER TABLE contacts ADD COLUMN folded_name TEXT GENERATED ALWAYS AS (gwk_fold_name(name)) STORED;

-- Here, because a default uses it. The position of an event is the number of its transaction
-- (docs/decisions/0052-read-events-in-the-order-of-transactions.md).
CREATE FUNCTION gwk_event_position() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT pg_current_xact_id()::text::bigint + (SELECT shift FROM event_position_shift WHERE id = 1)
$$;
ALTER TABLE events ALTER COLUMN position SET DEFAULT gwk_event_position();

-- Upper and lower half of a text's hash: the key of that text in an index.
CREATE FUNCTION gwk_hash_high(value text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (hashtextextended(value, 0) >> 32)::integer
$$;
CREATE FUNCTION gwk_hash_low(value text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ((hashtextextended(value, 0) & 4294967295) - 2147483648)::integer
$$;

-- ------------------------------------------------------------------ partitions and rows

INSERT INTO event_position_shift DEFAULT VALUES;

-- Exists from the start: on a full disk Postgres can update this row but not insert it, and the drop frees space.
INSERT INTO maintenance_tasks (task, done_at) VALUES ('drop a partition', 'epoch');

-- Keeps rows whose day has no partition, because of a wrong clock or a worker that was stopped for a week.
CREATE TABLE messages_default PARTITION OF messages DEFAULT;
CREATE TABLE events_default PARTITION OF events DEFAULT;
CREATE TABLE webhook_deliveries_default PARTITION OF webhook_deliveries DEFAULT;

-- ------------------------------------------------------------------ indexes

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
-- Most messages are texts.
CREATE INDEX messages_type_idx ON messages (account_id, type, gwk_id_bucket_256ms(id)) WHERE type <> 'text';
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
CREATE INDEX outbox_unprepared_idx ON outbox (instance_id, head DESC, created_at) WHERE NOT prepared;
CREATE INDEX conversations_new_contacts_idx ON conversations (instance_id, first_sent_at, first_sent_no)
  WHERE first_sent_at IS NOT NULL;
CREATE INDEX conversations_activity_idx ON conversations (instance_id, active_slot) WHERE active_slot IS NOT NULL;
-- Conversations whose names are in no other table: groups, and contacts of sandboxes.
CREATE INDEX conversations_named_idx ON conversations (instance_id)
  WHERE username IS NOT NULL OR subject IS NOT NULL;
CREATE INDEX events_conversation_idx ON events (conversation_id, gwk_id_bucket_4s(id)) WHERE conversation_id IS NOT NULL;
CREATE UNIQUE INDEX opt_outs_account_wide_key ON opt_outs (contact_id) WHERE sandbox_id IS NULL;
-- Opt-outs with waiting messages left to fail.
CREATE INDEX opt_outs_unfinished_idx ON opt_outs (contact_id) WHERE unfinished;
-- Read by retention.
CREATE INDEX instance_states_ended_idx ON instance_states (ended_at) WHERE ended_at IS NOT NULL;
-- Prepared files of messages.
CREATE INDEX media_messages_idx ON media (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX media_stored_idx ON media (expires_at) WHERE removed_at IS NULL;
-- By bucket, so that the deliveries of messages of one moment share a key.
CREATE INDEX webhook_deliveries_message_idx ON webhook_deliveries (gwk_id_bucket_256ms(message_id))
  WHERE message_id IS NOT NULL;
CREATE INDEX webhook_deliveries_failed_idx ON webhook_deliveries (endpoint_id, id) WHERE status = 'failed';
