import { join } from 'node:path';
import { fromPublicId } from '@gwk/core/ids/ids';
import type { Gateway } from '../support/gateway/gateway.js';
import { engineEnvironment } from '../support/gateway/gateway-settings.js';
import { pickPort } from '../support/ports.js';
import { GWK, Program, type Environment } from '../support/program.js';

/** A second engine for an instance, unknown to the operator. */
export interface SpareEngine {
  program: Program;
  pod: string;
}

export async function startSpareEngine(
  gateway: Gateway,
  instanceId: string,
  pod: string,
  more: Environment = {},
): Promise<SpareEngine> {
  const operator = gateway.operatorClient();
  try {
    const { token } = await operator.call('issue-token', {
      instance_id: fromPublicId('instance', instanceId)!,
      pod,
    });
    const lease = { token, pod, port: await pickPort(), internalUrl: gateway.internalUrls[0]! };
    const program = new Program({
      name: pod,
      args: [GWK, 'engine'],
      env: { ...engineEnvironment(gateway.settings, lease), ...more },
      logFile: join(gateway.folder, `${pod}.log`),
      // Without a lease the engine is not ready. Tests check whether it gets one.
      ready: () => Promise.resolve(true),
      supervised: false,
    });
    await program.start();
    gateway.guests.push(program);
    return { program, pod };
  } finally {
    operator.close();
  }
}
