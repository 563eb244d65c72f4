import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findFreePort, launch, waitUntilReady, type ServerProcess } from '@gwk/local/servers/process';
import { until } from '../../wait.js';
import {
  endAll,
  makeCgroup,
  processesIn,
  processesNaming,
  readPodTimes,
  removeCgroup,
  unmountBelow,
} from './machine.js';
import type { NodePrograms } from './programs.js';
import { containerdConfig, kubeletConfig } from './settings.js';

const START_LIMIT_MS = 60_000;
const STOP_GRACE_MS = 10_000;
const execute = promisify(execFile);

export interface NodeOptions {
  name: string;
  /** Must be short: the paths of its sockets have at most 107 characters. */
  folder: string;
  programs: NodePrograms;
  kubeconfig: string;
  cni: string;
  /** Folder with the addresses of registries. */
  registries: string;
  address: string;
}

/** A node on this machine with its own containerd and kubelet. */
export class ClusterNode {
  readonly name: string;
  readonly #options: NodeOptions;
  readonly socket: string;
  readonly #cgroup: string;
  #containerd: ServerProcess | null = null;
  #kubelet: ServerProcess | null = null;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.name = options.name;
    this.socket = join(options.folder, 'containerd.sock');
    this.#cgroup = `gwk-${options.name}`;
  }

  async startContainerd(): Promise<void> {
    const { folder, programs, cni, registries } = this.#options;
    mkdirSync(folder, { recursive: true });
    const config = join(folder, 'containerd.toml');
    const places = { folder, socket: this.socket, cni: { config: cni, plugins: programs.cni }, registries };
    writeFileSync(config, containerdConfig(places));
    this.#containerd = launch({
      command: join(programs.containerd, 'containerd'),
      args: ['-c', config],
      parentDeathSignal: 'TERM',
      logFile: join(folder, 'containerd.log'),
      env: { ...process.env, PATH: `${programs.containerd}:${process.env['PATH']}` },
    });
    await waitUntilReady(this.#containerd, () => this.ctr('version').then(() => undefined), START_LIMIT_MS);
  }

  async ctr(...args: string[]): Promise<string> {
    const command = join(this.#options.programs.containerd, 'ctr');
    const { stdout } = await execute(command, ['-a', this.socket, '-n', 'k8s.io', ...args], {
      maxBuffer: 2 ** 24,
    });
    return stdout;
  }

  async startKubelet(): Promise<void> {
    const { folder, programs, kubeconfig, address, name } = this.#options;
    makeCgroup(this.#cgroup);
    const ports = { kubelet: await findFreePort(), health: await findFreePort() };
    const config = join(folder, 'kubelet.json');
    const places = { socket: this.socket, cgroup: this.#cgroup, logs: join(folder, 'logs') };
    writeFileSync(config, kubeletConfig(places, ports));
    this.#kubelet = launch({
      command: join(programs.kubernetes, 'kubelet'),
      args: [
        `--config=${config}`,
        `--kubeconfig=${kubeconfig}`,
        `--root-dir=${join(folder, 'kubelet')}`,
        `--cert-dir=${join(folder, 'certificates')}`,
        `--hostname-override=${name}`,
        `--node-ip=${address}`,
        `--node-labels=gwk.test/node=${name}`,
      ],
      parentDeathSignal: 'TERM',
      logFile: join(folder, 'kubelet.log'),
    });
    const health = `http://127.0.0.1:${ports.health}/healthz`;
    await waitUntilReady(
      this.#kubelet,
      async () => {
        if (!(await fetch(health)).ok) throw new Error('not healthy yet');
      },
      START_LIMIT_MS,
    );
  }

  /** Milliseconds of processor time that each pod of the node has used, by its uid. */
  readPodTimes(): Map<string, number> {
    return readPodTimes(this.#cgroup);
  }

  /** Kills (-9) the first process of the only container of this name. */
  async killContainer(name: string): Promise<void> {
    const filter = `labels."io.kubernetes.container.name"==${name}`;
    const ids = (await this.ctr('containers', 'list', '-q', filter)).trim().split('\n');
    const tasks = (await this.ctr('tasks', 'list')).split('\n').map((line) => line.split(/\s+/));
    const running = tasks.filter(([id, , state]) => ids.includes(id ?? '') && state === 'RUNNING');
    if (running.length !== 1)
      throw new Error(`${running.length} containers ${name} run on node ${this.name}`);
    process.kill(Number(running[0]![1]), 'SIGKILL');
  }

  /** Stops the kubelet. Its pods keep running. */
  async stopKubelet(): Promise<void> {
    await this.#kubelet?.stop('SIGKILL', STOP_GRACE_MS);
    this.#kubelet = null;
  }

  /** Simulates a power loss: everything on the node dies at once, without a notification. */
  async losePower(): Promise<void> {
    await this.stopKubelet();
    await this.#containerd?.stop('SIGKILL', STOP_GRACE_MS);
    this.#containerd = null;
    await this.#endContainers();
  }

  async remove(): Promise<void> {
    await this.losePower();
    unmountBelow(this.#options.folder);
    removeCgroup(this.#cgroup);
  }

  /** Containers first: a shim reports the exit of its container to nobody. */
  async #endContainers(): Promise<void> {
    const left = () => [...processesNaming(this.#options.folder), ...processesIn(this.#cgroup)];
    await until(
      () => {
        const pids = left();
        endAll(pids, 'SIGKILL');
        return pids.length === 0;
      },
      { what: `nothing runs on node ${this.name}`, timeoutMs: 30_000, everyMs: 50 },
    );
  }
}
