import type { Database } from '@gwk/api/database/database';
import { newCommandKey } from '@gwk/api/engine-commands/commands';
import { newUuid } from '@gwk/core/ids/ids';
import type { InstanceOut } from '@gwk/api/resources/instance';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { GatewayClient } from '../../support/gateway/client.js';
import { until } from '../../support/wait.js';

/**
 * Creates an instance. After a 503 it repeats the call with the same key, as consumers should.
 * @returns its public id
 */
export function createInstance(client: GatewayClient, name: string, kind: string): Promise<string> {
  return until(
    async () => {
      const headers = { 'idempotency-key': name };
      const answer = await client.call<InstanceOut>('POST', '/v1/instances', {
        body: { name, kind },
        headers,
      });
      return answer.status === 201 && answer.body.id;
    },
    { what: `${name} is made`, everyMs: 500 },
  );
}

/**
 * Inserts rows of connected instances without engines, because engines would use the CPU.
 * @returns their UUIDs
 */
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
  await db.instanceCounters.createMany({ data: ids.map((instanceId) => ({ instanceId })) });
  return ids;
}
