import { parseUuidTime } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import type { Database } from '../../database/database.js';
import type { Prisma } from '../../generated/prisma/client.js';

/**
 * Forgets what the former account of an instance knew of its contacts: nobody has written to the new account, and its menus,
 * timers and contact checks are none of its own. The worker fails the queued messages (waiting_messages.sql), and no engine
 * claims them any more.
 */
export async function forgetFormerAccount(tx: Prisma.TransactionClient, instanceId: string): Promise<void> {
  await tx.$executeRaw`
    WITH locked AS MATERIALIZED (
      SELECT id FROM conversations WHERE instance_id = ${instanceId}::uuid ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE conversations v
    SET first_sent_at = NULL, first_sent_no = NULL, last_wrote_at = NULL, timer_s = NULL, timer_set_at = NULL
    FROM locked WHERE v.id = locked.id`;
  // Else they would wait until their time.
  const scheduled = await tx.outboxEntry.findMany({ where: { instanceId, state: 'scheduled' } });
  const ids = scheduled.map(({ messageId }) => messageId);
  await tx.outboxEntry.updateMany({ where: { messageId: { in: ids } }, data: { releaseAt: new Date(0) } });
  await tx.$queryRaw`SELECT FROM gwk_release_scheduled(${ids}::uuid[], ${ids.map(() => null)}::timestamptz[])`;
  await tx.menu.deleteMany({ where: { instanceId } });
  await tx.contactCheck.deleteMany({ where: { instanceId } });
}

/**
 * Refuses to change or mark messages of an account that is no longer linked: the network would not know them.
 * @throws Problem `message-of-former-account`
 */
export async function refuseFormerMessages(
  db: Pick<Database, 'instance'>,
  id: string,
  messageIds: readonly string[],
): Promise<void> {
  const row = await db.instance.findUnique({ where: { id }, select: { otherAccountAt: true } });
  const since = row?.otherAccountAt?.getTime() ?? -Infinity;
  if (messageIds.some((messageId) => parseUuidTime(messageId) < since))
    throw new Problem('message-of-former-account');
}
