import { counter, gauge, histogram } from './metric.js';

/**
 * Metrics of `gwk engine`, which serves one instance. The series of its connection carry `instance_id`, unless
 * GWK_ENGINE_METRICS_INSTANCE is off. The scrape target identifies the others.
 */
export const ENGINE_METRICS = {
  connected: gauge('gwk_instance_connected', '1 while the instance is connected to the network.', [
    'instance_id',
  ]),
  state: gauge('gwk_instance_state', '1 for the current state of the instance, 0 for the other states.', [
    'instance_id',
    'state',
  ]),
  messages: counter('gwk_engine_messages_total', 'Messages that this engine finished, by result.', [
    'result',
  ]),
  messageSeconds: histogram(
    'gwk_engine_message_seconds',
    'Time from the claim of a message to its result.',
    [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 120, 900],
  ),
  resends: counter(
    'gwk_engine_resends_total',
    'Messages sent again because the network did not acknowledge them.',
  ),
  rateLimitPauses: counter(
    'gwk_engine_rate_limit_pauses_total',
    'Pauses of all sends of an instance because the network limited their rate (429).',
  ),
  sessionRefusals: counter(
    'gwk_engine_session_refusals_total',
    'Changes of the session that the API refused, for example because the session is larger than GWK_API_MAX_SESSION_MB. The engine then disconnects, and the network delivers again the messages that depend on them.',
  ),
  claims: counter('gwk_engine_claims_total', 'Successful claim calls.'),
  activeConversations: gauge(
    'gwk_engine_active_conversations',
    'Conversations with a claimed message. The engine sends one message of a conversation at a time.',
  ),
  notifySeconds: histogram(
    'gwk_engine_notify_seconds',
    'Time from the notification in Redis about a queued message to its receipt by the engine, by the clocks of both machines.',
    [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 60],
  ),
  held: gauge('gwk_engine_held_messages', 'Claimed messages without a result yet.'),
  lease: gauge(
    'gwk_engine_lease_seconds',
    'Time until the engine closes its socket unless it renews the lease.',
  ),
  redisUp: gauge('gwk_engine_redis_up', '1 while the engine is connected to Redis.'),
  connections: counter('gwk_engine_connections_total', 'Connections to the network made by this engine.'),
  disconnections: counter(
    'gwk_engine_disconnections_total',
    'Ended connections and failed connection attempts, by reason, including those for pairing.',
    ['reason'],
  ),
  clientVersion: gauge(
    'gwk_engine_client_version',
    '1 for the client version of the last connection attempt.',
    ['version'],
  ),
  clientVersionRefusals: counter(
    'gwk_engine_client_version_refusals_total',
    'Connections that the network refused because of their client version (405, 409).',
    ['version'],
  ),
  received: counter('gwk_engine_received_total', 'Inbound messages of this engine that the API has stored.'),
  ignored: counter(
    'gwk_engine_ignored_total',
    'Received messages and calls without an effect, by reason: no conversation (a status post or a channel), bytes that are no message, an edit, a vote or a reaction that cannot be decrypted, too many calls, or a refusal by the API.',
    ['reason'],
  ),
  storeSeconds: histogram(
    'gwk_engine_session_write_seconds',
    'Time until a write of session data (Signal keys) is durable.',
    [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
  ),
} as const;
