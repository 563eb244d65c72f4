import { randomBytes } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort, launch, waitUntilReady, type ServerProcess } from '@gwk/local/servers/process';
import type { Binaries } from './binaries.js';
import { realTime } from '../wait.js';
import { call } from './rest.js';

/**
 * etcd and kube-apiserver on free ports, optionally with the controllers. A real Kubernetes without nodes: it stores
 * pods and never runs them. It needs no root.
 */
export interface ControlPlane {
  url: string;
  etcdUrl: string;
  /** Certificate authority of the API server (PEM). */
  ca: string;
  token: string;
  kubeconfig: string;
  folder: string;
  stop(): Promise<void>;
}

const START_LIMIT_MS = realTime(60_000);
const ATTEMPTS = 5;
const STOP_GRACE_MS = 5_000;
const ADMIN_GROUP = 'system:masters';

export interface ControlPlaneOptions {
  binaries: Binaries;
  /** An empty folder. The caller deletes it with its contents. */
  folder: string;
  /** Runs kube-controller-manager: garbage collection, namespaces, service accounts. */
  controllers?: boolean;
  /** Address at which pods reach the API server. Without it, only this machine can. */
  address?: string;
}

export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  mkdirSync(options.folder, { recursive: true });
  const started: ServerProcess[] = [];
  const stop = async (): Promise<void> => {
    // Stop in reverse order: an API server without etcd would wait for it.
    for (const server of started.reverse()) await server.stop('SIGKILL', STOP_GRACE_MS);
  };
  try {
    const etcd = await withPort((port) => startEtcd(options, port));
    started.push(etcd.process);
    const token = randomBytes(24).toString('hex');
    const api = await withPort((port) => startApiServer(options, { port, etcdUrl: etcd.url, token }));
    started.push(api.process);
    const ca = readFileSync(join(options.folder, 'certificates/apiserver.crt'), 'utf8');
    const kubeconfig = join(options.folder, 'kubeconfig');
    writeKubeconfig(kubeconfig, { url: api.url, ca, token });
    if (options.controllers) started.push(startControllers(options, kubeconfig));
    return { url: api.url, etcdUrl: etcd.url, ca, token, kubeconfig, folder: options.folder, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Started {
  url: string;
  process: ServerProcess;
}

/** Retries, because another process may take the free port first. */
async function withPort(start: (port: number) => Promise<Started>): Promise<Started> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(await findFreePort());
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

async function startEtcd({ binaries, folder }: ControlPlaneOptions, port: number): Promise<Started> {
  const url = `http://127.0.0.1:${port}`;
  const peer = `http://127.0.0.1:${await findFreePort()}`;
  const server = launch({
    command: join(binaries.folder, 'etcd'),
    args: [
      `--data-dir=${join(folder, `etcd-${port}`)}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      '--unsafe-no-fsync',
      '--log-level=warn',
    ],
    parentDeathSignal: 'TERM',
    logFile: join(folder, 'etcd.log'),
  });
  return ready(server, url, async () => {
    const response = await fetch(`${url}/health`);
    if (!response.ok) throw new Error(`etcd answered ${response.status}`);
  });
}

async function startApiServer(
  { binaries, folder, address }: ControlPlaneOptions,
  { port, etcdUrl, token }: { port: number; etcdUrl: string; token: string },
): Promise<Started> {
  const file = (name: string) => join(folder, name);
  const made = spawnSync('openssl', ['genrsa', '-out', file('service-accounts.key'), '2048']);
  if (made.status !== 0) throw new Error('openssl is needed to make a key for service accounts');
  writeFileSync(file('tokens.csv'), `${token},admin,admin,"${ADMIN_GROUP}"\n`, { mode: 0o600 });
  const server = launch({
    command: join(binaries.folder, 'kube-apiserver'),
    args: [
      `--etcd-servers=${etcdUrl}`,
      `--secure-port=${port}`,
      `--bind-address=${address === undefined ? '127.0.0.1' : '0.0.0.0'}`,
      `--advertise-address=${address ?? '127.0.0.1'}`,
      `--cert-dir=${file('certificates')}`,
      '--service-account-issuer=https://kubernetes.test',
      `--service-account-key-file=${file('service-accounts.key')}`,
      `--service-account-signing-key-file=${file('service-accounts.key')}`,
      '--service-cluster-ip-range=10.96.0.0/16',
      `--token-auth-file=${file('tokens.csv')}`,
      '--authorization-mode=Node,RBAC',
      '--allow-privileged=true',
      // Without an address for pods, its Service has no endpoints.
      ...(address === undefined
        ? ['--endpoint-reconciler-type=none']
        : ['--kubelet-preferred-address-types=InternalIP']),
    ],
    parentDeathSignal: 'TERM',
    logFile: file('kube-apiserver.log'),
  });
  // The certificate is valid for this name.
  const url = `https://${address ?? '127.0.0.1'}:${port}`;
  return ready(server, url, async () => {
    const ca = readFileSync(file('certificates/apiserver.crt'), 'utf8');
    const { status } = await call(`${url}/readyz`, { ca, token });
    if (status !== 200) throw new Error(`the API server answered ${status}`);
  });
}

async function ready(process: ServerProcess, url: string, attempt: () => Promise<void>): Promise<Started> {
  try {
    await waitUntilReady(process, attempt, START_LIMIT_MS);
  } catch (error) {
    await process.stop('SIGKILL', STOP_GRACE_MS);
    throw error;
  }
  return { url, process };
}

function startControllers({ binaries, folder }: ControlPlaneOptions, kubeconfig: string): ServerProcess {
  if (!binaries.has('kube-controller-manager'))
    throw new Error(`${binaries.folder} has no kube-controller-manager`);
  return launch({
    command: join(binaries.folder, 'kube-controller-manager'),
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--service-account-private-key-file=${join(folder, 'service-accounts.key')}`,
      `--root-ca-file=${join(folder, 'certificates/apiserver.crt')}`,
      '--use-service-account-credentials=true',
      '--leader-elect=false',
      '--secure-port=0',
      // Nodes in tests are objects whose status a test sets. The test controls when they time out.
      '--node-monitor-grace-period=20s',
    ],
    parentDeathSignal: 'TERM',
    logFile: join(folder, 'kube-controller-manager.log'),
  });
}

export function writeKubeconfig(
  path: string,
  { url, ca, token }: { url: string; ca: string; token: string },
): void {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'test',
        cluster: { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') },
      },
    ],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
    'current-context': 'test',
  };
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
}
