import { Problem } from '@gwk/core/problems';
import type { OperatorRequest, OperatorResponse } from '@gwk/core/protocol/operator';
import { audit } from '../accounts/audit-log.js';
import { ANSWER_MS, openSession, type Asked } from '../instances/pairing/open.js';
import { isOpen } from '../instances/pairing/view.js';
import { readPairings, type PairingState } from '../instances/pairing/watch.js';
import type { InternalDeps } from '../engines/dependencies.js';
import { RefusalError } from '../engines/refusal.js';

/** Returns the present state of a pairing without waiting. Opens a session first if the operator requests one. */
export async function pairForCluster(
  deps: InternalDeps,
  { instance_id: id, open }: OperatorRequest<'pair'>,
): Promise<OperatorResponse<'pair'>> {
  if (open) await openFor(deps, id, open);
  const pairing = (await readPairings(deps.database, deps.sealer, [id])).get(id);
  if (!pairing) throw new RefusalError('gone');
  return shown(pairing);
}

/** A paired instance gets no session; its state shows it. */
async function openFor(deps: InternalDeps, id: string, asked: Asked): Promise<void> {
  const { database: db, sealer, live } = deps;
  const row = await db.instance.findFirst({ where: { id, deletedAt: null } });
  if (!row) throw new RefusalError('gone');
  try {
    const { session } = await openSession({ db, sealer }, id, asked);
    await audit(db, { actor: 'cluster', accountId: row.accountId, action: 'instance.pair', subject: id });
    // An engine that starts later, or misses the command, finds the session with its lease.
    void live.ask(row, 'pair', { session, ...asked }, ANSWER_MS);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'already-paired') throw error;
  }
}

function shown(pairing: PairingState): OperatorResponse<'pair'> {
  const { state, session } = pairing;
  const open = isOpen(pairing);
  const code = open ? session!.code : null;
  return {
    state,
    open,
    code: code?.text ?? null,
    code_expires_at: code?.expiresAt.toISOString() ?? null,
    error: session?.error ?? null,
  };
}
