import { Problem } from '@gwk/core/problems/problems';
import { toNetworkId, parseRecipient, type Recipient } from '@gwk/core/ids/recipients';
import { findName } from '../contacts/contacts.js';
import { identify, type ConversationNames } from '../events/emit.js';
import type { Instance } from '../generated/prisma/client.js';
import type { Services } from '../http/services.js';
import { refuseFormerMessages } from '../instances/state/former-account.js';
import { findByNetworkIds, type MessageAuthor } from '../messages/list.js';
import { askEngine } from '../engine-commands/ask-engine.js';

/** @throws Problem `invalid-phone` */
export function parseChat(segment: string): Recipient {
  const chat = parseRecipient(segment);
  if (!chat) throw new Problem('invalid-phone');
  return chat;
}

/**
 * Sends read receipts to the contact, then marks the known messages as read. Unknown ids are sent too, because phones store
 * messages longer than gwk.
 */
export async function markRead(
  services: Services,
  row: Instance,
  chat: Recipient,
  given: readonly string[],
): Promise<void> {
  const ids = [...new Set(given)];
  const conversation = await findConversation(services, row, chat);
  const known = conversation === null ? [] : await findReceived(services, row.id, conversation.id, ids);
  await refuseFormerMessages(
    services.db,
    row.id,
    known.map(({ id }) => id),
  );
  const byId = new Map(known.map((message) => [message.waMessageId, message]));
  const byAddress = Map.groupBy(ids, (id) =>
    byId.get(id)?.byPhone ? addressByPhone(chat, conversation!) : addressChat(chat, conversation),
  );
  for (const [address, marked] of byAddress) {
    const messages = marked.map((id) => {
      const { participant = null, list } = byId.get(id) ?? {};
      return { wa_message_id: id, participant, ...(list && { list }) };
    });
    await askEngine(services, row, 'read', { chat: address, messages });
  }
  if (conversation === null || known.length === 0) return;
  await services.db.$queryRaw`
    SELECT gwk_mark_read(${conversation.id}::uuid, ${known.map(({ id }) => id)}::uuid[])::text`;
}

export async function showPresence(
  services: Services,
  row: Instance,
  chat: Recipient,
  state: string,
): Promise<void> {
  const conversation = await findConversation(services, row, chat);
  await askEngine(services, row, 'presence', { chat: addressChat(chat, conversation), state });
}

interface Conversation extends ConversationNames {
  id: string;
}

/** Receipts answer the id that the contact wrote from. */
function addressByPhone({ name, phone }: Recipient, conversation: Conversation): string {
  return toNetworkId(conversation.phone ?? phone ?? name);
}

/** The LID of a phone number if this instance knows it, because contacts write from it. */
function addressChat({ kind, name, phone }: Recipient, conversation: Conversation | null): string {
  if (kind === 'group' || !conversation) return toNetworkId(phone ?? name);
  return identify(phone ?? name, conversation).id;
}

async function findConversation(
  { db }: Services,
  { id, accountId }: Instance,
  chat: Recipient,
): Promise<Conversation | null> {
  const [found] =
    chat.kind === 'group'
      ? await db.$queryRaw<Conversation[]>`
          SELECT id, lid, phone FROM conversations WHERE instance_id = ${id}::uuid AND group_id = ${chat.name}`
      : await db.$queryRaw<Conversation[]>`
          SELECT v.id, v.lid, v.phone FROM contact_names n
          JOIN conversations v ON v.instance_id = ${id}::uuid AND v.contact_id = n.contact_id
          WHERE n.account_id = ${accountId}::uuid AND n.name = ${findName(accountId, chat)}`;
  return found ?? null;
}

async function findReceived(
  { db }: Services,
  instanceId: string,
  conversationId: string,
  ids: readonly string[],
) {
  const author: MessageAuthor = { direction: 'inbound', participants: null };
  const names = ids.map((waMessageId) => ({ instanceId, conversationId, waMessageId, author }));
  return (await findByNetworkIds(db, names)).filter((message) => message !== undefined);
}
