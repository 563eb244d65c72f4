import { InternalApiRefusal, type OperatorClient } from '@gwk/core/protocol/internal-client';
import type {
  InstanceFacts,
  OperatorRequest,
  OperatorResponse,
  Projection,
} from '@gwk/core/protocol/operator';
import type { InstanceResource } from '@gwk/core/resources/manifest';

/** The operator's calls of the internal API. Each may fail before or after it took effect. */
export interface InternalApiClient {
  project(resource: InstanceResource): Promise<Projection>;
  observe(ids: string[]): Promise<{ instances: InstanceFacts[] }>;
  issueToken(instanceId: string, pod: string): Promise<string>;
  engineEnded(instanceId: string, pod: string, timeoutMs?: number): Promise<void>;
  /** End of the lease of an engine that still runs; null when nobody holds it. */
  remove(uid: string): Promise<number | null>;
  /** Current state of a pairing; `open` opens a session first. */
  pair(instanceId: string, open: OperatorRequest<'pair'>['open']): Promise<OperatorResponse<'pair'>>;
}

export function createInternalApiClient(client: OperatorClient): InternalApiClient {
  return {
    // Leave out the status: the operator wrote it itself, and it would only enlarge the request.
    project: ({ status: _, ...resource }) => client.call('project', { resource }),
    observe: (ids) => client.call('observe', { ids }),
    issueToken: async (instanceId, pod) =>
      (await client.call('issue-token', { instance_id: instanceId, pod })).token,
    engineEnded: async (instanceId, pod, timeoutMs) => {
      await client
        .call('engine-ended', { instance_id: instanceId, pod }, timeoutMs)
        .catch(ignoreDeletedInstance);
    },
    pair: (instanceId, open) => client.call('pair', { instance_id: instanceId, open }),
    remove: async (uid) => {
      const { lease_expires_at: end } = await client.call('remove', { uid });
      return end === null ? null : Date.parse(end);
    },
  };
}

/** A deleted row has no lease to free. */
function ignoreDeletedInstance(error: unknown): void {
  if (!(error instanceof InternalApiRefusal) || error.refusal !== 'gone') throw error;
}
