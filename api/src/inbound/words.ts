import { toPublicId } from '@gwk/core/ids/ids';
import { audit, byCaller } from '../accounts/audit-log.js';
import {
  changeContact,
  linkSeenPhones,
  lockContact,
  type ContactDeps,
  type Transaction,
} from '../contacts/contacts.js';
import { optOut, release, resumeInSandbox } from '../contacts/opt-outs.js';
import { emit } from '../events/emit.js';
import { fence } from '../fencing/fence.js';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { Arrival } from './arrival.js';
import { wordEvent, type Word } from './decide.js';
import { write, type Entry, type Result } from './write.js';

/**
 * Receives one opt-out or opt-in message: writes the message, the opt-out, the failures of the contact's queued messages and all
 * events in one transaction.
 *
 * A duplicate has no effect: an old SAIR that is redelivered late does not undo a VOLTAR. A word in a sandbox, where a consumer
 * may write in the name of any contact, holds in that sandbox only.
 */
export function receiveWord(deps: ContactDeps, entry: Entry, word: Word): Promise<Result> {
  const { arrival, known } = entry;
  const { sealer } = deps;
  return changeContact(deps.database, async (tx) => {
    // The lock order is leases before conversations.
    if (arrival.lease) await fence(tx, arrival.instanceId, arrival.lease);
    const wide = !known.isSandbox;
    if (wide && known.contactId !== null) await lockContact(tx, known.contactId);
    const [written] = await write((statement) => tx.$queryRaw(statement), sealer, [entry]);
    const { result, conversationId } = written!;
    if (result !== 'written') return result;
    const { contactId } = await tx.conversation.findUniqueOrThrow({ where: { id: conversationId } });
    if (wide) await lockContact(tx, contactId!);
    const sandboxId = wide ? null : arrival.instanceId;
    const isChange = await apply(tx, sealer, { contactId: contactId!, sandboxId, arrival, word });
    if (isChange && arrival.caller) {
      const action = word.asks === 'opt_out' ? 'opt_out.create' : 'opt_out.delete';
      const detail = { sandbox: toPublicId('instance', arrival.instanceId) };
      await audit(tx, byCaller(arrival.caller, action, contactId!, detail));
    }
    if (isChange || word.asks === 'opt_out') await emit(tx, sealer, [wordEvent(arrival, known, word)]);
    return result;
  });
}

interface Application {
  contactId: string;
  sandboxId: string | null;
  arrival: Arrival;
  word: Word;
}

/** @returns whether the word changed something */
async function apply(tx: Transaction, sealer: Sealer, given: Application): Promise<boolean> {
  const { contactId, sandboxId, arrival, word } = given;
  const { keyword } = word;
  if (word.asks === 'opt_out') {
    const { instanceId } = arrival;
    const optedOut = { contactId, sandboxId, phone: null, source: 'keyword', keyword, instanceId } as const;
    const isNew = await optOut(tx, sealer, optedOut);
    if (sandboxId === null) await linkSeenPhones(tx, sealer, contactId);
    return isNew;
  }
  if (sandboxId === null) return release(tx, sealer, contactId, 'account');
  return resumeInSandbox(tx, sealer, { contactId, sandboxId }, { keyword });
}
