import { changeContact, failWaitingFor, lockContact, type ContactDeps } from '../contacts/contacts.js';
import { optOut, release } from '../contacts/opt-outs.js';
import { emit } from '../events/emit.js';
import { fence } from '../engines/fence.js';
import { wordEvent, type Word } from './decide.js';
import { write, type Entry, type Result } from './write.js';

/**
 * Receives one opt-out or opt-in message: writes the message, the opt-out, the failures of the contact's queued messages and all
 * events in one transaction.
 *
 * A duplicate has no effect: an old SAIR that is redelivered late does not undo a VOLTAR.
 */
export function receiveWord(deps: ContactDeps, entry: Entry, word: Word): Promise<Result> {
  const { arrival, known } = entry;
  const { sealer } = deps;
  return changeContact(deps.database, async (tx) => {
    // The lock order is leases before conversations.
    if (arrival.lease) await fence(tx, arrival.instanceId, arrival.lease);
    if (known.contactId !== null) await lockContact(tx, known.contactId);
    const [written] = await write(tx, sealer, [entry]);
    const { result, conversationId } = written!;
    if (result !== 'written') return result;
    const { contactId } = await tx.conversation.findUniqueOrThrow({ where: { id: conversationId } });
    await lockContact(tx, contactId!);
    const event = wordEvent(arrival, known, word);
    if (word.asks === 'opt_in') {
      if (await release(tx, sealer, contactId!)) await emit(tx, sealer, [event]);
      return result;
    }
    const { keyword } = word;
    await optOut(tx, {
      contactId: contactId!,
      phone: null,
      source: 'keyword',
      keyword,
      instanceId: arrival.instanceId,
    });
    await failWaitingFor(tx, sealer, contactId!);
    await emit(tx, sealer, [event]);
    return result;
  });
}
