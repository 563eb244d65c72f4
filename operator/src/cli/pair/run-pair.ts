import { CoreV1Api, CustomObjectsApi } from '@kubernetes/client-node';
import { OperatorDesiredState } from '@gwk/core/desired-state/operator-client';
import {
  PAIRING_ANNOTATION,
  PAIRING_FIELD,
  pairingSecretName,
  PairingView,
  type PairingRequest,
} from '@gwk/core/resources/pairing-request';
import { toString as encodeQr } from 'qrcode';
import { isCode, KubeError, orNull, PATCH, type KubeClient } from '../../cluster/kubernetes/client.js';
import { INSTANCES } from '../../cluster/kubernetes/names.js';
import { isExpected } from '../instances/change.js';
import { CliError } from '../instances/target.js';
import { findCluster, findOperator } from './access.js';
import { createLocalPairCluster } from './local-cluster.js';
import { pair, type PairCluster } from './pair.js';

export interface PairOptions {
  namespace?: string;
  method: PairingRequest['method'];
  phone?: string;
  context?: string;
  kubeconfig?: string;
}

const TIMEOUT_MS = 15_000;

export async function runPair(name: string, options: PairOptions): Promise<void> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
  let client: KubeClient | undefined;
  try {
    const operator = findOperator(options, process.env, process.cwd());
    client = operator ? undefined : findCluster(options);
    const namespace = options.namespace ?? client?.namespace ?? 'default';
    const cluster = client
      ? pairCluster(client, namespace, name)
      : createLocalPairCluster(new OperatorDesiredState({ ...operator!, timeoutMs: TIMEOUT_MS }), {
          namespace,
          name,
        });
    const print = (text: string) => console.log(text);
    await pair(
      { cluster, print, renderQr, signal: interrupted.signal },
      options.method,
      options.phone ?? null,
    );
  } catch (error) {
    if (!isShown(error)) throw error;
    process.stderr.write(`gwk pair: ${error.message}\n`);
    process.exitCode = 1;
  } finally {
    await client?.close();
  }
}

const isShown = (error: unknown): error is Error =>
  error instanceof CliError || error instanceof KubeError || isExpected(error);

/** Prints dark on light in any terminal. Without a terminal it prints characters only. */
function renderQr(code: string): Promise<string> {
  if (!process.stdout.isTTY) return encodeQr(code, { type: 'utf8', errorCorrectionLevel: 'L' });
  return encodeQr(code, { type: 'terminal', small: true, errorCorrectionLevel: 'L' });
}

function pairCluster(client: KubeClient, namespace: string, name: string): PairCluster {
  const core = client.makeApiClient(CoreV1Api);
  const objects = client.makeApiClient(CustomObjectsApi);
  const target = { ...INSTANCES, namespace, name };
  const secret = { namespace, name: pairingSecretName(name) };
  return {
    instance: () => orNull(objects.getNamespacedCustomObject(target)),
    async setRequest(request) {
      const annotations = { [PAIRING_ANNOTATION]: request && JSON.stringify(request) };
      const patch = { ...target, body: { metadata: { annotations } }, fieldManager: 'gwk-pair' };
      await objects.patchNamespacedCustomObject(patch, PATCH.merge);
    },
    async view() {
      const found = await orNull(core.readNamespacedSecret(secret)).catch((error: unknown) => {
        if (!isCode(error, 403)) throw error;
        throw new CliError(
          `the code is in Secret ${secret.name} of namespace ${namespace}, which you have no right to get`,
        );
      });
      const text = found?.data?.[PAIRING_FIELD];
      return text === undefined
        ? null
        : PairingView.parse(JSON.parse(Buffer.from(text, 'base64').toString()));
    },
  };
}
