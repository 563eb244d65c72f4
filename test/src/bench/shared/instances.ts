import type { Database } from '@gwk/api/database';
import { newCommandKey } from '@gwk/api/instances/command-key';
import { newUuid } from '@gwk/core/ids';
import type { Sealer } from '@gwk/core/sealing';

/** Rows of connected numbers without engines, which would take part of the machine. @returns their UUIDs */
export async function makeInstances(
  db: Database,
  sealer: Sealer,
  { accountId, count }: { accountId: string; count: number },
): Promise<string[]> {
  const ids = Array.from({ length: count }, newUuid);
  const now = new Date();
  await db.instance.createMany({
    data: ids.map((id) => ({
      id,
      accountId,
      name: id,
      kind: 'web',
      environment: 'bench',
      interactiveMode: 'native+text',
      resourceNamespace: 'default',
      resourceName: id,
      resourceUid: id,
      resourceGeneration: 1,
      state: 'connected',
      stateChangedAt: now,
      firstPairedAt: now,
      firstConnectedAt: now,
      commandKeySealed: new Uint8Array(newCommandKey(sealer, id)),
    })),
  });
  await db.instanceLedger.createMany({ data: ids.map((instanceId) => ({ instanceId })) });
  return ids;
}
