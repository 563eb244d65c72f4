import type { OperatorDesiredState, Place } from '@gwk/core/desired-state/desired-state';
import { PAIRING_ANNOTATION, type PairingRequest } from '@gwk/core/resources/pairing-request';
import { toString as encodeQr } from 'qrcode';
import { toPlace } from '../instances/commands.js';
import { findLocalOperator, runCommand } from '../local-operator.js';
import { changeResource } from './change.js';
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
  await runCommand('pair', async () => {
    const { cluster, close } = await openCluster(name, options);
    const print = (text: string) => console.log(text);
    const terminal = { cluster, print, renderQr, signal: interrupted.signal };
    try {
      await pair(terminal, options.method, options.phone ?? null);
    } finally {
      await close();
    }
  });
}

async function openCluster(name: string, options: PairOptions) {
  const operator = findOperator(options);
  if (operator) {
    const place = toPlace({ namespace: options.namespace ?? 'default', name });
    return { cluster: createLocalPairCluster(operator, place), close: () => undefined };
  }
  // Load client-node only for Kubernetes.
  const { createPairCluster, findCluster } = await import('./kubernetes-cluster.js');
  const client = findCluster(options.kubeconfig, options.context);
  const cluster = createPairCluster(client, options.namespace ?? client.namespace, name);
  return { cluster, close: () => client.close() };
}

/** An Instance of the gateway on this machine. */
function createLocalPairCluster(state: OperatorDesiredState, place: Place): PairCluster {
  return {
    instance: () => state.get(place),
    view: async () => (await state.details(place))?.pairing ?? null,
    async setRequest(request) {
      await changeResource(state, place, (resource) => {
        const annotations = { ...resource.metadata.annotations };
        if (request) annotations[PAIRING_ANNOTATION] = JSON.stringify(request);
        else delete annotations[PAIRING_ANNOTATION];
        return { ...resource, metadata: { ...resource.metadata, annotations } };
      });
    },
  };
}

/** The gateway on this machine. Null: it has never run, or the user named a kubeconfig or a context. @throws CliError */
function findOperator({ kubeconfig, context }: PairOptions): OperatorDesiredState | null {
  const isNamed = [kubeconfig, context, process.env['KUBECONFIG']].some((given) => given !== undefined);
  return isNamed ? null : findLocalOperator(process.env);
}

/** Prints dark on light in any terminal. Without a terminal it prints characters only. */
function renderQr(code: string): Promise<string> {
  if (!process.stdout.isTTY) return encodeQr(code, { type: 'utf8', errorCorrectionLevel: 'L' });
  return encodeQr(code, { type: 'terminal', small: true, errorCorrectionLevel: 'L' });
}
