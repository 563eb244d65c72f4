import { InternalApiRefusal, type OperatorClient } from '@gwk/core/protocol/internal-client';
import type { InstanceFacts, OperatorRequest, Projection } from '@gwk/core/protocol/operator';
import type { InstanceResource } from '@gwk/core/resources/manifest';

/** The operator's calls of the internal API. Each may fail before or after it took effect. */
export type InternalApiClient = ReturnType<typeof createInternalApiClient>;

export function createInternalApiClient(client: OperatorClient) {
  return {
    // Leave out the status: the operator wrote it itself, and it would only enlarge the request.
    project: ({ status: _, ...resource }: InstanceResource): Promise<Projection> =>
      client.call('project', { resource }),
    observe: (known: Pick<InstanceFacts, 'id' | 'digest'>[]) =>
      client.call('observe', { ids: known.map(({ id }) => id), digests: known.map(({ digest }) => digest) }),
    issueToken: async (instanceId: string, pod: string) =>
      (await client.call('issue-token', { instance_id: instanceId, pod })).token,
    engineEnded: async (instanceId: string, pod: string, timeoutMs?: number): Promise<void> => {
      await client
        .call('engine-ended', { instance_id: instanceId, pod }, timeoutMs)
        .catch(ignoreDeletedInstance);
    },
    /** Current state of a pairing; `open` opens a session first. */
    pair: (instanceId: string, open: OperatorRequest<'pair'>['open']) =>
      client.call('pair', { instance_id: instanceId, open }),
    /** End of the lease of an engine that still runs; null when nobody holds it. */
    remove: async (uid: string) => {
      const { lease_expires_at: end } = await client.call('remove', { uid });
      return end === null ? null : Date.parse(end);
    },
  };
}

/** A deleted row has no lease to free. */
function ignoreDeletedInstance(error: unknown): void {
  if (!(error instanceof InternalApiRefusal) || error.refusal !== 'gone') throw error;
}
