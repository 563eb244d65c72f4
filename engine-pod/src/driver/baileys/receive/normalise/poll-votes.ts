import { decryptPollVote, type proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { deriveMessageSecret } from '../../send/build.js';
import type { Envelope, OwnIds } from './envelope.js';

type Vote = NonNullable<InboundMessage['vote']>;

const MAX_CHOSEN = 12;

/**
 * Decrypts a vote in a poll of this instance. Its key derives from the ids by which the voter's app knows both
 * sides. The vote does not state these ids, so each pair is tried. Null when no pair fits: a vote in another poll,
 * or from before the device was linked again.
 */
export function decryptVote(envelope: Envelope, own: OwnIds, key: Uint8Array): Vote | null {
  const { pollUpdateMessage: update } = envelope.message;
  const id = update?.pollCreationMessageKey?.id;
  if (!update?.vote || !id) return null;
  const secret = deriveMessageSecret(id, key);
  for (const creator of listIds(own.jid, own.lid)) {
    for (const voter of listIds(envelope.from, envelope.fromMe ? own.lid : envelope.alt)) {
      const options = tryDecryptVote(update.vote, { id, secret, creator, voter });
      if (options) return { poll_wa_message_id: id.slice(0, 200), chosen: options.slice(0, MAX_CHOSEN) };
    }
  }
  return null;
}

const listIds = (...names: (string | null)[]): string[] => names.filter((name) => name !== null);

function tryDecryptVote(
  vote: proto.Message.IPollEncValue,
  { id, secret, creator, voter }: { id: string; secret: Uint8Array; creator: string; voter: string },
): string[] | null {
  try {
    const { selectedOptions } = decryptPollVote(vote, {
      pollCreatorJid: creator,
      pollMsgId: id,
      pollEncKey: secret,
      voterJid: voter,
    });
    return (selectedOptions ?? []).map((option) => Buffer.from(option).toString('hex'));
  } catch {
    return null;
  }
}
