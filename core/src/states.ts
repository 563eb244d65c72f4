import type { LocalText } from './language.js';

/** Stored states of an instance. The pairing operations also show `pairing`, which is not stored. */
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

/** Whether a phone with another account than the last one may link the instance. */
export const OTHER_ACCOUNT_MODES = ['refuse', 'accept'] as const;
export type OtherAccountMode = (typeof OTHER_ACCOUNT_MODES)[number];
/** Why the pairing with another account failed. */
export const OTHER_ACCOUNT = 'other_account';

/** How an interactive message was sent: `rendered_as` of a message. */
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
/** Whether the status is `sent` or later. */
export const hasLeft = (status: string): boolean => LEFT.has(status);

/** Codes of failed messages. */
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

/** Words for people where nothing more is known than the code. */
export const FAILURE_TEXTS: Readonly<Record<FailureCode, LocalText>> = {
  recipient_not_on_whatsapp: {
    pt: 'O WhatsApp não conhece nenhuma conta com este número ou id, nem um grupo assim.',
    en: 'WhatsApp knows no account with this number or id, and no such group.',
  },
  media_unavailable: {
    pt: 'O arquivo não pôde ser obtido, verificado ou convertido.',
    en: 'The file could not be fetched, checked or converted.',
  },
  not_connected: {
    pt: 'O WhatsApp baniu o número da instância.',
    en: 'WhatsApp has banned the number of the instance.',
  },
  not_paired: {
    pt: 'A instância não está vinculada a um aparelho.',
    en: 'The instance is not linked to a device.',
  },
  opted_out: {
    pt: 'O contato pediu para não receber mensagens.',
    en: 'The contact has opted out of messages.',
  },
  canceled: {
    pt: 'A mensagem foi cancelada antes do envio, ou a instância foi excluída.',
    en: 'The message was canceled before it was sent, or its instance was deleted.',
  },
  expired: {
    pt: 'A instância ficou 15 minutos sem conexão enquanto a mensagem esperava.',
    en: 'The instance was offline for 15 minutes while the message waited.',
  },
  wa_error: { pt: 'O WhatsApp recusou a mensagem.', en: 'WhatsApp refused the message.' },
  timeout: {
    pt: 'O WhatsApp não confirmou a mensagem em 15 minutos. Ela pode ter chegado.',
    en: 'WhatsApp did not confirm the message within 15 minutes. It may have arrived.',
  },
  internal: {
    pt: 'O conteúdo da mensagem não pôde ser lido ou montado.',
    en: 'The content of the message could not be read or built.',
  },
};

export const DELIVERY_STATUSES = ['pending', 'succeeded', 'failed'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/**
 * Decides about the queued messages of an instance in a state.
 * @returns `wait`: they stay queued and may expire; otherwise the code with which they fail at once
 */
export function decideWaiting(state: InstanceState): 'wait' | 'not_paired' | 'not_connected' {
  if (state === 'pending_pair' || state === 'logged_out') return 'not_paired';
  return state === 'banned' ? 'not_connected' : 'wait';
}

/** A receipt may arrive before an outcome. A late acknowledgement or receipt corrects `failed` with `timeout`. */
const RANK: Record<MessageStatus, number> = {
  queued: 0,
  sending: 1,
  failed: 2,
  sent: 3,
  delivered: 4,
  read: 5,
};

/** Whether a message may change from one status to the other. Statuses only move forward. */
export function canAdvance(from: MessageStatus, to: MessageStatus, errorCode: string | null): boolean {
  if (from === 'failed') return errorCode === 'timeout' && RANK[to] > RANK.failed;
  if (to === 'queued') return from === 'sending';
  return RANK[to] > RANK[from] && !(to === 'failed' && RANK[from] >= RANK.sent);
}
