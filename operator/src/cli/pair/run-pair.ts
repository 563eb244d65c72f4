import { MANIFEST_API_VERSION, type InstanceResource } from '@gwk/core/resources/manifest';
import {
  PAIRING_ANNOTATION,
  PAIRING_FIELD,
  pairingSecretName,
  PairingView,
  type PairingRequest,
} from '@gwk/core/resources/pairing-request';
import { toString as encodeQr } from 'qrcode';
import { isCode, KubeClient, KubeError, PATCH_TYPES } from '../../cluster/kubernetes/client.js';
import { CliError } from '../instances/target.js';
import { findAccess } from './access.js';
import { pair, type PairCluster } from './pair.js';

export interface PairOptions {
  namespace?: string;
  method: PairingRequest['method'];
  phone?: string;
  context?: string;
  kubeconfig?: string;
}

export async function runPair(name: string, options: PairOptions): Promise<void> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
  let client: KubeClient | undefined;
  try {
    const access = await findAccess(options, process.env, process.cwd());
    client = new KubeClient(access);
    const cluster = pairCluster(client, options.namespace ?? access.namespace ?? 'default', name);
    const terminal = {
      cluster,
      print: (text: string) => console.log(text),
      renderQr,
      signal: interrupted.signal,
    };
    await pair(terminal, options.method, options.phone ?? null);
  } catch (error) {
    if (!(error instanceof CliError || error instanceof KubeError)) throw error;
    process.stderr.write(`gwk pair: ${error.message}\n`);
    process.exitCode = 1;
  } finally {
    await client?.close();
  }
}

/** Prints dark on light in any terminal. Without a terminal it prints characters only. */
function renderQr(code: string): Promise<string> {
  if (!process.stdout.isTTY) return encodeQr(code, { type: 'utf8', errorCorrectionLevel: 'L' });
  return encodeQr(code, { type: 'terminal', small: true, errorCorrectionLevel: 'L' });
}

function pairCluster(client: KubeClient, namespace: string, name: string): PairCluster {
  const instance = `/apis/${MANIFEST_API_VERSION}/namespaces/${namespace}/instances/${name}`;
  const secret = `/api/v1/namespaces/${namespace}/secrets/${pairingSecretName(name)}`;
  return {
    instance: () => orNull(client.call<InstanceResource>({ path: instance })),
    async setRequest(request) {
      const annotations = { [PAIRING_ANNOTATION]: request && JSON.stringify(request) };
      await client.call({
        method: 'PATCH',
        path: instance,
        query: { fieldManager: 'gwk-pair' },
        type: PATCH_TYPES.merge,
        body: { metadata: { annotations } },
      });
    },
    async view() {
      const found = await orNull(client.call<{ data?: Record<string, string> }>({ path: secret })).catch(
        (error: unknown) => {
          if (!isCode(error, 403)) throw error;
          const name = pairingSecretName(instance.split('/').at(-1)!);
          throw new CliError(
            `the code is in Secret ${name} of namespace ${namespace}, which you have no right to get`,
          );
        },
      );
      const text = found?.data?.[PAIRING_FIELD];
      return text === undefined
        ? null
        : PairingView.parse(JSON.parse(Buffer.from(text, 'base64').toString()));
    },
  };
}

async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (isCode(error, 404)) return null;
    throw error;
  }
}
