import type { OperatorDesiredState, Place } from '@gwk/core/desired-state/desired-state';
import type { PairOptions } from '@gwk/core/pairing/options';
import type { PairCluster } from '@gwk/core/pairing/pair';
import { pairInTerminal } from '@gwk/core/pairing/terminal';
import { PAIRING_ANNOTATION } from '@gwk/core/resources/pairing-request';
import { toPlace } from '../instances/commands.js';
import { findLocalOperator, runCommand } from '../local-operator.js';
import { changeResource } from './change.js';

export interface OperatorPairOptions extends PairOptions {
  namespace?: string;
  context?: string;
  kubeconfig?: string;
}

export async function runPair(name: string, options: OperatorPairOptions): Promise<void> {
  await runCommand('pair', async () => {
    const { cluster, close } = await openCluster(name, options);
    try {
      await pairInTerminal(cluster, options);
    } finally {
      await close();
    }
  });
}

async function openCluster(name: string, options: OperatorPairOptions) {
  const operator = findOperator(options);
  if (operator) {
    const place = toPlace({ namespace: options.namespace ?? 'default', name });
    return { cluster: createLocalPairCluster(operator, place), close: () => undefined };
  }
  // Load client-node only for Kubernetes.
  const { createPairCluster, findCluster } = await import('@gwk/core/kubernetes/pair-cluster');
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
function findOperator({ kubeconfig, context }: OperatorPairOptions): OperatorDesiredState | null {
  const isNamed = [kubeconfig, context, process.env['KUBECONFIG']].some((given) => given !== undefined);
  return isNamed ? null : findLocalOperator(process.env);
}
