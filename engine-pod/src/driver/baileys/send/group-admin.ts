import type { WASocket } from '@whiskeysockets/baileys';
import { NotAdminError, SendFailure } from '../../driver.js';

/**
 * Asks the network each time, because phones ignore a deletion by somebody who is no longer an admin.
 * @throws NotAdminError, SendFailure
 */
export async function requireAdmin(
  socket: Pick<WASocket, 'groupMetadata'>,
  group: string,
  isOwn: (jid: string) => boolean,
): Promise<void> {
  const { participants } = await socket.groupMetadata(group).catch((error: unknown) => {
    throw isForeignGroup(error) ? new NotAdminError() : SendFailure.notWritten();
  });
  const own = participants.find(({ id, lid, phoneNumber }) =>
    [id, lid, phoneNumber].some((jid) => jid && isOwn(jid)),
  );
  if (!own?.admin) throw new NotAdminError();
}

/** Whether the network refused to describe a group because the number is not in it. */
const isForeignGroup = (error: unknown): boolean =>
  [401, 403, 404].includes((error as { data?: number } | null)?.data ?? 0);
