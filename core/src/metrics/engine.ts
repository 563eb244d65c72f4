import { counter, gauge, histogram } from './metric.js';

/**
 * Of `gwk engine`: one number each. Series of the number itself carry its `instance_id` (GWK_ENGINE_METRICS_INSTANCE=off
 * leaves it out); the others are told apart by the target that they were read from.
 */
export const ENGINE_METRICS = {
  connected: gauge({
    name: 'gwk_instance_connected',
    help: '1 while the number is connected.',
    labelNames: ['instance_id'],
  }),
  state: gauge({
    name: 'gwk_instance_state',
    help: '1 for the state that the instance is in, 0 for the others.',
    labelNames: ['instance_id', 'state'],
  }),
  messages: counter({
    name: 'gwk_engine_messages_total',
    help: 'Messages that left this engine, by how they ended here.',
    labelNames: ['result'],
  }),
  messageSeconds: histogram({
    name: 'gwk_engine_message_seconds',
    help: 'From the claim of a message to its conclusion.',
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 120, 900],
  }),
  resends: counter({
    name: 'gwk_engine_resends_total',
    help: 'Stanzas sent again because no answer came.',
  }),
  claims: counter({ name: 'gwk_engine_claims_total', help: 'Claims that were answered.' }),
  activeConversations: gauge({
    name: 'gwk_engine_active_conversations',
    help: 'Conversations with a message held: each is a lane, in which one message leaves at a time.',
  }),
  notifySeconds: histogram({
    name: 'gwk_engine_notify_seconds',
    help: 'From when a waiting message was rung for in Redis until the engine heard it, by their clocks.',
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 60],
  }),
  held: gauge({ name: 'gwk_engine_held_messages', help: 'Messages claimed and not yet settled.' }),
  lease: gauge({
    name: 'gwk_engine_lease_seconds',
    help: 'Until the socket closes unless the lease is renewed.',
  }),
  redisUp: gauge({ name: 'gwk_engine_redis_up', help: '1 while connected to Redis.' }),
  connections: counter({
    name: 'gwk_engine_connections_total',
    help: 'Times that the number was connected by this engine.',
  }),
  disconnections: counter({
    name: 'gwk_engine_disconnections_total',
    help: 'Connections, made or tried, that ended, by reason; those of pairings too.',
    labelNames: ['reason'],
  }),
  received: counter({
    name: 'gwk_engine_received_total',
    help: 'Inbound messages that the API has recorded for this engine.',
  }),
  storeSeconds: histogram({
    name: 'gwk_engine_session_write_seconds',
    help: 'Writes of the session (keys of Signal) until they were durable.',
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
  }),
} as const;
