import type { KubeClient } from '@gwk/core/kubernetes/client';
import { OperatorDesiredState } from '@gwk/core/desired-state/operator-client';
import type { PairingRequest } from '@gwk/core/resources/pairing-request';
import { toString as encodeQr } from 'qrcode';
import { isExpected } from '../instances/change.js';
import { CliError, findTarget } from '../instances/target.js';
import type { Address } from '../../cluster/local/address.js';
import { createLocalPairCluster } from './local-cluster.js';
import { pair } from './pair.js';

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
    const operator = findOperator(options);
    // Load client-node only for Kubernetes.
    const kubernetes = operator ? null : await import('./kubernetes-cluster.js');
    client = kubernetes?.findCluster(options.kubeconfig, options.context);
    const namespace = options.namespace ?? client?.namespace ?? 'default';
    const cluster = client
      ? kubernetes!.createPairCluster(client, namespace, name)
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
  error instanceof CliError || (error as Error).name === 'KubeError' || isExpected(error);

/** The gateway on this machine. Null: there is none, or the user named a kubeconfig or a context. @throws CliError */
function findOperator({ kubeconfig, context }: PairOptions): Address | null {
  const { KUBECONFIG, GWK_CLUSTER_URL } = process.env;
  if ([kubeconfig, context, KUBECONFIG].some((named) => named !== undefined)) return null;
  try {
    return findTarget(process.env, process.cwd());
  } catch (error) {
    if (error instanceof CliError && GWK_CLUSTER_URL === undefined) return null;
    throw error;
  }
}

/** Prints dark on light in any terminal. Without a terminal it prints characters only. */
function renderQr(code: string): Promise<string> {
  if (!process.stdout.isTTY) return encodeQr(code, { type: 'utf8', errorCorrectionLevel: 'L' });
  return encodeQr(code, { type: 'terminal', small: true, errorCorrectionLevel: 'L' });
}
