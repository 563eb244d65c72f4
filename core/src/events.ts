/** The table of event types. */
interface EventDefinition {
  /** Accepted as `type` in GET /v1/events. */
  filterable: boolean;
  /** Delivered to endpoints whose `event_types` is empty. */
  byDefault: boolean;
}

const ordinary: EventDefinition = { filterable: true, byDefault: true };

export const EVENTS = {
  'message.received': ordinary,
  'message.sent_from_device': ordinary,
  'message.sent': ordinary,
  'message.failed': ordinary,
  'message.status_updated': ordinary,
  'message.interactive_reply': ordinary,
  'message.edited': ordinary,
  'message.deleted': ordinary,
  'message.reaction': ordinary,
  'instance.qr': { filterable: true, byDefault: false },
  'instance.passkey_requested': { filterable: true, byDefault: false },
  'instance.pairing_failed': { filterable: true, byDefault: false },
  'instance.paired': ordinary,
  'instance.connected': ordinary,
  'instance.disconnected': ordinary,
  'instance.logged_out': ordinary,
  'instance.banned': ordinary,
  'call.received': { filterable: true, byDefault: false },
  'group.updated': { filterable: true, byDefault: false },
  'webhook.test': ordinary,
  'contact.opted_out': { filterable: false, byDefault: true },
  'contact.opted_in': { filterable: false, byDefault: true },
  'contact.updated': { filterable: true, byDefault: false },
} satisfies Record<string, EventDefinition>;

export type EventType = keyof typeof EVENTS;
export const EVENT_TYPES = Object.keys(EVENTS) as [EventType, ...EventType[]];
export const FILTERABLE_EVENT_TYPES = EVENT_TYPES.filter((type) => EVENTS[type].filterable) as [
  EventType,
  ...EventType[],
];
