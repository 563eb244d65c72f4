import type { Sealer } from '@gwk/core/crypto/encryption';
import { newUuid, parseUuidTime } from '@gwk/core/ids/ids';
import { normaliseText } from '../../policy/mass-block.js';
import { Problem } from '@gwk/core/problems/problems';
import type { AcceptedMessageOut, MessageOut } from '@gwk/core/resources/message';
import type { Caller } from '../../accounts/caller.js';
import {
  hashBodyWithAllKeys,
  makeRecordId,
  readIdempotencyKey,
  RESPONSE_COLUMN,
} from '../../http/idempotency/store.js';
import { sealContent } from '../content.js';
import { messageOut, UNSENT } from '../view.js';
import { newWaMessageId } from '../wa-message-id.js';
import type { SendItem, WritePlan } from './decide.js';
import { SEND_ROUTE, type Facts } from './gather.js';
import { readDraft, type Draft } from './request.js';
import type { WriteEntry } from './write.js';

/** The HTTP input of a send. */
export interface SendInput {
  body: unknown;
  idempotencyKey: string | undefined;
  /** Null or absent: the request is not traced. */
  traceparent?: string | null;
}

/** The account and the API key that send. */
export type Sender = Pick<Caller, 'accountId' | 'instances' | 'suspended'>;

const FINGERPRINT_BYTES = 16;
const NO_HASHES = { bodyHash: null, formerHashes: [] };

/** @throws Problem for a malformed request, a suspended account or an instance hidden from the API key */
export function readItem(sealer: Sealer, { body, idempotencyKey }: SendInput, sender: Sender): SendItem {
  const { accountId, instances, suspended } = sender;
  const key = readIdempotencyKey(idempotencyKey);
  if (suspended) throw new Problem('account-suspended');
  const draft = readDraft(body);
  const { instanceId, recipient } = draft;
  if (instanceId === null || (instances !== null && !instances.has(instanceId)))
    throw new Problem('not-found');
  const shared = {
    accountId,
    instanceId,
    recipient,
    recipientKey: `${instanceId} ${recipient.phone ?? recipient.name}`,
    visible: instances,
    traceparent: null,
  };
  const read = ({ text, replyTo, mediaId }: Draft) => ({
    ...shared,
    fingerprint: text === null ? null : computeFingerprint(sealer, { accountId, instanceId, text }),
    replyTo,
    mediaId,
  });
  return {
    ...read(draft),
    draft,
    parts: draft.parts.map((part) => ({
      ...{ ...read(part), draft: part, parts: [], isPart: true, recordId: null, ...NO_HASHES },
    })),
    recordId: key === null ? null : makeRecordId({ accountId, route: SEND_ROUTE, key }),
    ...(key === null ? NO_HASHES : hashBodyWithAllKeys(sealer, accountId, body)),
  };
}

function computeFingerprint(
  sealer: Sealer,
  { accountId, instanceId, text }: { accountId: string; instanceId: string; text: string },
): string {
  const digest = sealer.fingerprint(accountId, 'mass send', `${instanceId}\n${normaliseText(text)}`);
  return digest.toString('hex', 0, FINGERPRINT_BYTES);
}

export interface EntryContext {
  sealer: Sealer;
  newMessageId?: (() => string) | undefined;
}

/**
 * Gives each message of the request its ids and encrypts its content.
 * @param plans that of the request, then those of its parts
 */
export function createEntries(
  context: EntryContext,
  request: SendItem,
  plans: readonly WritePlan[],
): WriteEntry[] {
  const { accountId, recordId, parts } = request;
  const whole = createEntry(context, request, plans[0]!, null);
  const items = parts.map((part, index) => createEntry(context, part, plans[index + 1]!, whole));
  if (items.length > 0) whole.response.items = items.map(({ response }) => response);
  if (recordId !== null && (items.length > 0 || plans[0]!.releaseAt !== null))
    whole.responseSealed = context.sealer.sealJson(accountId, RESPONSE_COLUMN, whole.response);
  return [whole, ...items];
}

function createEntry(
  { sealer, newMessageId = newUuid }: EntryContext,
  request: SendItem,
  plan: WritePlan,
  whole: WriteEntry | null,
): WriteEntry {
  const { instanceId, draft } = request;
  const messageId = newMessageId();
  const part_of = whole && {
    wa_message_id: whole.waMessageId,
    kind: whole.request.draft.type === 'album' ? 'album' : 'hd',
  };
  return {
    request,
    plan,
    messageId,
    wholeId: whole && whole.messageId,
    recordId: (whole?.request ?? request).recordId,
    createdAt: parseUuidTime(messageId),
    waMessageId: newWaMessageId(),
    contentSealed: sealContent(
      sealer,
      instanceId,
      JSON.stringify(part_of ? { ...draft.content, part_of } : draft.content),
    ),
    response: buildResponse(draft, { messageId, instanceId, releaseAt: plan.releaseAt }),
    responseSealed: null,
  };
}

/** Response of the earlier request with the same key: stored, or rebuilt from this request. */
export function replayResponse(sealer: Sealer, item: SendItem, facts: Facts): AcceptedMessageOut {
  const { accountId, instanceId, draft } = item;
  const { recordMessage, recordResponse } = facts;
  if (recordResponse !== null)
    return sealer.openJson(accountId, RESPONSE_COLUMN, recordResponse) as AcceptedMessageOut;
  return buildResponse(draft, { messageId: recordMessage!, instanceId, releaseAt: null });
}

/** A replay has the same draft and message id; only `releaseAt` cannot be derived from them. */
function buildResponse(
  { to, type }: Draft,
  { messageId, instanceId, releaseAt }: { messageId: string; instanceId: string; releaseAt: Date | null },
): MessageOut {
  const createdAt = new Date(parseUuidTime(messageId));
  return messageOut({
    ...UNSENT,
    id: messageId,
    instanceId,
    direction: 'outbound',
    to,
    type,
    status: 'queued',
    createdAt,
    scheduledFor: releaseAt,
    updatedAt: createdAt,
  });
}
