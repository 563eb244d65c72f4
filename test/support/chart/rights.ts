import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject, TestCluster } from '../kubernetes/test-cluster.js';

export interface Granted {
  token: string;
  /** File that names the cluster, the namespace and the token. */
  kubeconfig: string;
  done: () => void;
}

const RIGHTS =
  /^(ServiceAccount|Role|RoleBinding|ClusterRole|ClusterRoleBinding|ValidatingAdmissionPolicy(Binding)?)$/;

/**
 * Applies the service accounts and roles among the objects.
 * @returns a token of one of the accounts
 */
export async function grantedTo(
  cluster: TestCluster,
  objects: KubeObject[],
  { namespace, account }: { namespace: string; account: string },
): Promise<Granted> {
  for (const object of objects.filter(({ kind = '' }) => RIGHTS.test(kind))) await cluster.applied(object);
  const made = await cluster.post<{ status: { token: string } }>(
    `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 3600 },
    },
  );
  const { token } = made.body.status;
  const folder = mkdtempSync(join(tmpdir(), 'gwk-rights-'));
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(configOf(cluster, { namespace, token })), { mode: 0o600 });
  return { token, kubeconfig, done: () => rmSync(folder, { recursive: true, force: true }) };
}

function configOf(
  { plane }: TestCluster,
  { namespace, token }: { namespace: string; token: string },
): object {
  const authority = Buffer.from(plane.ca).toString('base64');
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: plane.url, 'certificate-authority-data': authority } }],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace } }],
    'current-context': 'c',
  };
}
