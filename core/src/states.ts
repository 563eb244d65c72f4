/** Stored states of an instance (spec: Instance state). `pairing` is shown by the pairing endpoints only. */
export const INSTANCE_STATES = [
  'pending_pair',
  'connecting',
  'connected',
  'disconnected',
  'logged_out',
  'banned',
] as const;
export type InstanceState = (typeof INSTANCE_STATES)[number];

export const INSTANCE_KINDS = ['web', 'sandbox'] as const;
export type InstanceKind = (typeof INSTANCE_KINDS)[number];

export const INTERACTIVE_MODES = ['native', 'native+text', 'text'] as const;
export type InteractiveMode = (typeof INTERACTIVE_MODES)[number];

/** How an interactive message really left (spec: MessageOut.rendered_as). */
export const RENDERINGS = [
  'native_flow_buttons',
  'native_flow_list',
  'legacy_buttons',
  'legacy_list',
  'text_menu',
] as const;
export type Rendering = (typeof RENDERINGS)[number];

export const MESSAGE_STATUSES = ['queued', 'sending', 'sent', 'delivered', 'read', 'failed'] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

const LEFT: ReadonlySet<string> = new Set<MessageStatus>(['sent', 'delivered', 'read']);
/** It is `sent`, or further on. */
export const hasLeft = (status: string): boolean => LEFT.has(status);

/** Why a message did not leave (spec: Failure codes). */
export const FAILURE_CODES = [
  'recipient_not_on_whatsapp',
  'media_unavailable',
  'not_connected',
  'not_paired',
  'opted_out',
  'canceled',
  'expired',
  'wa_error',
  'timeout',
  'internal',
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

export const DELIVERY_STATUSES = ['pending', 'succeeded', 'failed'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/**
 * What becomes of a message that waits while its instance is in a state (design: Who waits).
 * `wait`: it stays queued and may expire; otherwise it fails at once with that code.
 */
export function decideWaiting(state: InstanceState): 'wait' | 'not_paired' | 'not_connected' {
  if (state === 'pending_pair' || state === 'logged_out') return 'not_paired';
  return state === 'banned' ? 'not_connected' : 'wait';
}

/** A receipt may jump ahead of an outcome, never back; a late ack or receipt corrects `failed` with `timeout`. */
const RANK: Record<MessageStatus, number> = {
  queued: 0,
  sending: 1,
  failed: 2,
  sent: 3,
  delivered: 4,
  read: 5,
};

/** Whether a message may move from one status to the other (statuses only move forward). */
export function canAdvance(from: MessageStatus, to: MessageStatus, errorCode: string | null): boolean {
  if (from === 'failed') return errorCode === 'timeout' && RANK[to] > RANK.failed;
  if (to === 'queued') return from === 'sending';
  return RANK[to] > RANK[from] && !(to === 'failed' && RANK[from] >= RANK.sent);
}
