import { fromPublicId } from '@gwk/core/ids/ids';
import type { EngineResponse, LeaseIdentity } from '@gwk/core/protocol/engine';
import { EngineClient } from '@gwk/core/protocol/internal-client';
import type { Gateway } from '../support/gateway/gateway.js';
import { readEnvironment } from '../support/processes.js';

/** Credentials of an engine, for a test that acts as the engine. */
export interface Impersonation {
  token: string;
  engine: EngineClient;
  acquired: EngineResponse<'acquire'>;
  lease: LeaseIdentity;
  close(): void;
}

/**
 * Replaces an instance's engine. Kills the engine and stops the operator, so that the operator starts no other
 * engine until it receives SIGCONT.
 */
export async function impersonateEngine(
  gateway: Gateway,
  instanceId: string,
  pod: string,
): Promise<Impersonation> {
  await gateway.operator.kill('SIGSTOP');
  const instance_id = fromPublicId('instance', instanceId)!;
  const hex = instance_id.replaceAll('-', '');
  const operator = gateway.operatorClient();
  for (const { pid } of gateway.engines()) {
    const own = readEnvironment(pid).get('GWK_ENGINE_POD')!;
    if (!own.includes(hex)) continue;
    process.kill(pid, 'SIGKILL');
    await operator.call('engine-ended', { instance_id, pod: own });
  }
  const { token } = await operator.call('issue-token', { instance_id, pod });
  operator.close();
  const engine = new EngineClient({ baseUrl: gateway.internalUrls[0]!, token, timeoutMs: 5000 });
  const acquired = await engine.call('acquire', { pod, version: 'test' });
  const lease = { epoch: acquired.epoch, holder: acquired.holder };
  return { token, engine, acquired, lease, close: () => engine.close() };
}
