import { MANIFEST_API_VERSION } from '@gwk/core/resources/manifest';
import type { Entry } from '../cluster/local/entries.js';
import type { RecordedEvent } from '../cluster/local/event-list.js';
import type { Store } from '../cluster/local/store.js';
import { sendJson, type Exchange } from './exchange.js';

const ROUTE = /^\/api\/v1\/namespaces\/([^/]+)\/events$/;

/** Serves recorded events like Kubernetes, with the selector `involvedObject.name`. */
export function serveEvents(exchange: Exchange, store: Store): boolean {
  const namespace = ROUTE.exec(exchange.path)?.[1];
  if (namespace === undefined || exchange.method !== 'GET') return false;
  const name = /involvedObject\.name=([^,]+)/.exec(exchange.query.get('fieldSelector') ?? '')?.[1];
  const entries = store.entries
    .all()
    .filter(({ state }) => state.namespace === namespace && (name === undefined || state.name === name));
  sendJson(exchange, 200, {
    apiVersion: 'v1',
    kind: 'EventList',
    metadata: { resourceVersion: String(store.entries.version) },
    items: entries.flatMap((entry) => entry.events.map((event, at) => buildEvent(entry, event, at))),
  });
  return true;
}

function buildEvent(
  { state }: Entry,
  { type, reason, message, first, last, count }: RecordedEvent,
  at: number,
) {
  const { namespace, name, uid } = state;
  return {
    metadata: {
      name: `${name}.${Date.parse(first).toString(16)}.${at}`,
      namespace,
      creationTimestamp: first,
    },
    involvedObject: { apiVersion: MANIFEST_API_VERSION, kind: 'Instance', namespace, name, uid },
    type,
    reason,
    message,
    count,
    firstTimestamp: first,
    lastTimestamp: last,
    source: { component: 'gwk-operator' },
  };
}
