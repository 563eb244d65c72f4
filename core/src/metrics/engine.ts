import { counter, gauge, histogram } from './metric.js';

/**
 * Metrics of `gwk engine`, which serves one instance. The series of its connection carry `instance_id`, unless
 * GWK_ENGINE_METRICS_INSTANCE is off. The scrape target identifies the others.
 */
export const ENGINE_METRICS = {
  connected: gauge({
    name: 'gwk_instance_connected',
    help: '1 while the instance is connected to the network.',
    labelNames: ['instance_id'],
  }),
  state: gauge({
    name: 'gwk_instance_state',
    help: '1 for the current state of the instance, 0 for the other states.',
    labelNames: ['instance_id', 'state'],
  }),
  messages: counter({
    name: 'gwk_engine_messages_total',
    help: 'Messages that this engine finished, by result.',
    labelNames: ['result'],
  }),
  messageSeconds: histogram({
    name: 'gwk_engine_message_seconds',
    help: 'Time from the claim of a message to its result.',
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 120, 900],
  }),
  resends: counter({
    name: 'gwk_engine_resends_total',
    help: 'Messages sent again because the network did not acknowledge them.',
  }),
  claims: counter({ name: 'gwk_engine_claims_total', help: 'Successful claim calls.' }),
  activeConversations: gauge({
    name: 'gwk_engine_active_conversations',
    help: 'Conversations with a claimed message. The engine sends one message of a conversation at a time.',
  }),
  notifySeconds: histogram({
    name: 'gwk_engine_notify_seconds',
    help: 'Time from the notification in Redis about a queued message to its receipt by the engine, by the clocks of both machines.',
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 60],
  }),
  held: gauge({ name: 'gwk_engine_held_messages', help: 'Claimed messages without a result yet.' }),
  lease: gauge({
    name: 'gwk_engine_lease_seconds',
    help: 'Time until the engine closes its socket unless it renews the lease.',
  }),
  redisUp: gauge({ name: 'gwk_engine_redis_up', help: '1 while the engine is connected to Redis.' }),
  connections: counter({
    name: 'gwk_engine_connections_total',
    help: 'Connections to the network made by this engine.',
  }),
  disconnections: counter({
    name: 'gwk_engine_disconnections_total',
    help: 'Ended connections and failed connection attempts, by reason, including those for pairing.',
    labelNames: ['reason'],
  }),
  received: counter({
    name: 'gwk_engine_received_total',
    help: 'Inbound messages of this engine that the API has stored.',
  }),
  storeSeconds: histogram({
    name: 'gwk_engine_session_write_seconds',
    help: 'Time until a write of session data (Signal keys) is durable.',
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
  }),
} as const;
