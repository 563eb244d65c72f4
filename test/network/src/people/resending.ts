import { proto } from '@whiskeysockets/baileys';
import type { World } from '../world.js';
import type { Account } from './account.js';
import type { Received } from './inbox.js';
import { writeToOwn } from './writing.js';

const { PEER_DATA_OPERATION_REQUEST_MESSAGE, PEER_DATA_OPERATION_REQUEST_RESPONSE_MESSAGE } =
  proto.Message.ProtocolMessage.Type;
const { PLACEHOLDER_MESSAGE_RESEND } = proto.Message.PeerDataOperationRequestType;

/**
 * A linked device requests messages of which it received only the envelope from its phone. The phone sends what its
 * owner sees, without LIDs and names.
 */
export async function answerDevice(world: World, entry: Received): Promise<void> {
  const { type, peerDataOperationRequestMessage: asked } = entry.message?.protocolMessage ?? {};
  if (type !== PEER_DATA_OPERATION_REQUEST_MESSAGE || entry.from !== entry.to) return;
  const account = world.people.need(entry.to);
  const companion = account.companions.get(entry.fromDevice);
  const wanted = asked?.placeholderMessageResendRequest ?? [];
  if (!companion || !account.manners.answersDevices || wanted.length === 0) return;
  const results = wanted.flatMap(({ messageKey }) =>
    messageKey ? (kept(world, account, messageKey) ?? []) : [],
  );
  await writeToOwn(world, companion, {
    protocolMessage: {
      type: PEER_DATA_OPERATION_REQUEST_RESPONSE_MESSAGE,
      peerDataOperationRequestResponseMessage: {
        peerDataOperationRequestType: PLACEHOLDER_MESSAGE_RESEND,
        stanzaId: entry.id,
        peerDataOperationResult: results.map((webMessageInfoBytes) => ({
          placeholderMessageResendResponse: { webMessageInfoBytes },
        })),
      },
    },
  });
}

function kept(world: World, account: Account, key: proto.IMessageKey): Uint8Array | undefined {
  const author = key.fromMe ? account : world.people.byJid(key.participant ?? key.remoteJid ?? '');
  const written = author?.phone.kept(key.id ?? '');
  if (!written) return undefined;
  return proto.WebMessageInfo.encode({
    key,
    message: written.message,
    messageTimestamp: Number(written.attributes.t),
  }).finish();
}
