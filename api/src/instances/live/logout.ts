import { newUuid } from '@gwk/core/ids';
import type { InstanceState } from '@gwk/core/states';
import type { Instance, Prisma } from '../../generated/prisma/client.js';
import type { Services } from '../../http/services.js';
import { writeStates } from '../state/write.js';
import { closeSession, isPaired } from '../pairing/sessions.js';
import { DEADLINES, hasEngine } from './ask-engine.js';

/**
 * Logs an instance out; its state becomes `pending_pair`. The engine unlinks the device and stores the state before it answers.
 * Without an engine or an answer, the row records the logout: the next connection unlinks the device, and until then reports
 * of an engine about the old link are ignored.
 */
export async function logOut(services: Services, row: Instance): Promise<void> {
  await services.db.$transaction((tx) => closeSession(tx, row.id, null));
  if (await logOutByEngine(services, row)) return;
  await services.db.$transaction((tx) => logOutByRow(tx, services, row.id));
}

async function logOutByEngine(services: Services, row: Instance): Promise<boolean> {
  if (!services.live.up || !(await hasEngine(services, row.id))) return false;
  const reply = await services.live.ask(row, 'logout', {}, DEADLINES.logout);
  return reply?.ok === true;
}

async function logOutByRow(tx: Prisma.TransactionClient, { sealer }: Services, id: string): Promise<void> {
  const [row] = await tx.$queryRaw<{ state: InstanceState }[]>`
    SELECT state FROM instances WHERE id = ${id}::uuid AND deleted_at IS NULL FOR NO KEY UPDATE`;
  if (!row || row.state === 'pending_pair') return;
  await writeStates(tx, sealer, id, [{ state: 'pending_pair', at: new Date(), reason: 'logout' }]);
  if (isPaired(row.state)) await tx.instance.update({ where: { id }, data: { unlinkId: newUuid() } });
}
