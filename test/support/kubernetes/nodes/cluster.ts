import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort, launch, type ServerProcess } from '@gwk/local/servers/process';
import { until } from '../../wait.js';
import { prepareCrane, startRegistry, type LocalRegistry } from '../../images/registry.js';
import { startControlPlane, type ControlPlane } from '../control-plane.js';
import { TestCluster } from '../test-cluster.js';
import { machineAddress, makeBridge, removeBridge } from './machine.js';
import { ClusterNode } from './node.js';
import { pushPause } from './pause-image.js';
import { ensureNodePrograms, type NodePrograms } from './programs.js';
import { cniConfig, dnsConfig, GATEWAY, proxyConfig, registriesConfig } from './settings.js';

const STOP_GRACE_MS = 5_000;

/** A whole Kubernetes on this machine, as root: control plane, nodes that run pods, Services, DNS, a registry. */
export class NodeCluster {
  readonly nodes: ClusterNode[] = [];
  readonly #servers: ServerProcess[] = [];
  #registry: LocalRegistry | null = null;

  readonly admin: TestCluster;

  private constructor(
    readonly folder: string,
    readonly programs: NodePrograms,
    readonly plane: ControlPlane,
    /** Address of this machine that pods can reach. */
    readonly address: string,
  ) {
    this.admin = TestCluster.over(plane);
  }

  static async start(names: string[], say: (line: string) => void): Promise<NodeCluster> {
    const programs = await ensureNodePrograms(say);
    await prepareCrane(say);
    const folder = mkdtempSync('/tmp/gwk-k8s-');
    const address = machineAddress();
    const plane = await startControlPlane({
      binaries: { folder: programs.kubernetes, has: () => true },
      folder: join(folder, 'plane'),
      controllers: true,
      address,
    });
    const cluster = new NodeCluster(folder, programs, plane, address);
    try {
      await cluster.#startNodes(names);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) await node.remove();
    for (const server of this.#servers.reverse()) await server.stop('SIGKILL', STOP_GRACE_MS);
    this.#registry?.stop();
    await this.plane.stop();
    spawnSync(join(this.programs.kubernetes, 'kube-proxy'), ['--cleanup'], { stdio: 'ignore' });
    removeBridge();
    rmSync(this.folder, { recursive: true, force: true });
  }

  node(name: string): ClusterNode {
    const node = this.nodes.find((one) => one.name === name);
    if (!node) throw new Error(`unknown node ${name}`);
    return node;
  }

  /** Address of the registry from which nodes pull every image. */
  get registry(): string {
    return this.#registry!.host;
  }

  /** Folder of the registry. */
  get blobs(): string {
    return join(this.folder, 'registry');
  }

  async untilNodeIs(name: string, ready: 'True' | 'False' | 'Unknown', timeoutMs = 60_000): Promise<void> {
    type Node = { status?: { conditions?: { type: string; status: string }[] } };
    await until(
      async () => {
        const { body } = await this.admin.get<Node>(`/api/v1/nodes/${name}`);
        return body.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === ready);
      },
      { what: `node ${name} is Ready=${ready}`, timeoutMs },
    );
  }

  async #startNodes(names: string[]): Promise<void> {
    const { folder, programs, address } = this;
    makeBridge();
    this.#registry = await startRegistry(this.blobs, GATEWAY);
    await pushPause(programs, folder, this.registry);
    const [cni, registries] = [join(folder, 'cni'), join(folder, 'registries')];
    for (const path of [cni, join(registries, '_default')]) mkdirSync(path, { recursive: true });
    writeFileSync(join(cni, '10-pods.conflist'), cniConfig(join(folder, 'addresses')));
    writeFileSync(join(registries, '_default/hosts.toml'), registriesConfig(this.registry));
    this.#startScheduler();
    const kubeconfig = join(folder, 'plane/kubeconfig');
    this.nodes.push(
      ...names.map(
        (name) =>
          new ClusterNode({
            name,
            folder: join(folder, name),
            programs,
            kubeconfig,
            cni,
            registries,
            address,
          }),
      ),
    );
    await Promise.all(
      this.nodes.map(async (node) => {
        await node.startContainerd();
        await node.startKubelet();
      }),
    );
    await this.#startProxy(names[0]!, kubeconfig);
    this.#startDns(kubeconfig);
    await Promise.all(names.map((name) => this.untilNodeIs(name, 'True')));
  }

  #startScheduler(): void {
    this.#serve('kube-scheduler', this.programs.kubernetes, [
      `--kubeconfig=${join(this.folder, 'plane/kubeconfig')}`,
      '--leader-elect=false',
      '--secure-port=0',
    ]);
  }

  /** One kube-proxy for all nodes, because they share one machine. */
  async #startProxy(node: string, kubeconfig: string): Promise<void> {
    const config = join(this.folder, 'proxy.json');
    const ports = { metrics: await findFreePort(), health: await findFreePort() };
    writeFileSync(config, proxyConfig(kubeconfig, ports));
    this.#serve('kube-proxy', this.programs.kubernetes, [
      `--config=${config}`,
      `--hostname-override=${node}`,
    ]);
  }

  #startDns(kubeconfig: string): void {
    const config = join(this.folder, 'Corefile');
    writeFileSync(config, dnsConfig(kubeconfig));
    this.#serve('coredns', this.programs.dns, ['-conf', config]);
  }

  #serve(program: string, folder: string, args: string[]): void {
    const logFile = join(this.folder, `${program}.log`);
    this.#servers.push(launch({ command: join(folder, program), args, parentDeathSignal: 'TERM', logFile }));
  }

  /** Copies the logs of all components to a folder, to debug failures. */
  keepLogs(target: string): void {
    mkdirSync(target, { recursive: true });
    for (const name of ['kube-scheduler', 'kube-proxy', 'coredns'])
      copyFileSync(join(this.folder, `${name}.log`), join(target, `${name}.log`));
    for (const { name } of this.nodes)
      for (const part of ['kubelet', 'containerd'])
        copyFileSync(join(this.folder, name, `${part}.log`), join(target, `${name}-${part}.log`));
  }
}
