import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { BRIDGE, GATEWAY } from './settings.js';

/** Creates and removes what nodes change on their machine. */
const CGROUPS = '/sys/fs/cgroup';

/** Address of this machine that pods and nodes can reach. */
export function machineAddress(): string {
  const all = Object.entries(networkInterfaces()).flatMap(([name, list]) =>
    name === BRIDGE ? [] : (list ?? []),
  );
  const found = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  if (!found) throw new Error('this machine has only the address 127.0.0.1');
  return found.address;
}

/** Must run before the first pod, because the DNS server listens on the bridge. */
export function makeBridge(): void {
  if (existsSync(`/sys/class/net/${BRIDGE}`)) removeBridge();
  run('ip', 'link', 'add', BRIDGE, 'type', 'bridge');
  run('ip', 'address', 'add', `${GATEWAY}/16`, 'dev', BRIDGE);
  run('ip', 'link', 'set', BRIDGE, 'up');
}

export function removeBridge(): void {
  removeNamespacesOfPods();
  spawnSync('ip', ['link', 'delete', BRIDGE]);
  removeRulesOfPods();
}

/** Pods that were killed with their containerd leave their network namespace, and with it their end at the bridge. */
function removeNamespacesOfPods(): void {
  const { stdout } = spawnSync('ip', ['-o', 'link', 'show', 'master', BRIDGE], { encoding: 'utf8' });
  for (const [, name] of (stdout ?? '').matchAll(/link-netns (cni-\S+)/g))
    spawnSync('ip', ['netns', 'delete', name!]);
}

/** Network namespaces of pods on this machine. */
export function listNamespacesOfPods(): string[] {
  const { stdout } = spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' });
  return (stdout ?? '').split('\n').flatMap((line) => /^cni-\S+/.exec(line)?.[0] ?? []);
}

/** The bridge plugin creates a chain for each pod and removes it only in an orderly stop. */
function removeRulesOfPods(): void {
  const { stdout } = spawnSync('iptables', ['-t', 'nat', '-S'], { encoding: 'utf8' });
  const rules = (stdout ?? '').split('\n').filter((rule) => rule.includes('name: \\"pods\\"'));
  const chains = rules.flatMap((rule) => /-j (CNI-\S+)/.exec(rule)?.[1] ?? []);
  for (const rule of rules.filter((one) => one.startsWith('-A POSTROUTING')))
    spawnSync('sh', ['-c', `iptables -t nat ${rule.replace('-A', '-D')}`]);
  for (const chain of new Set(chains))
    for (const deed of ['-F', '-X']) spawnSync('iptables', ['-t', 'nat', deed, chain]);
}

/** cgroup v1 has one tree for each controller, v2 one for all. */
function trees(): string[] {
  if (existsSync(join(CGROUPS, 'cgroup.controllers'))) return [CGROUPS];
  return readdirSync(CGROUPS).map((name) => join(CGROUPS, name));
}

export function makeCgroup(name: string): void {
  for (const tree of trees()) {
    const folder = join(tree, name);
    mkdirSync(folder, { recursive: true });
    initialiseCpuset(tree, folder);
  }
}

/** A new cpuset is empty and accepts no process until it has CPUs. */
function initialiseCpuset(tree: string, folder: string): void {
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    const [own, parent] = [join(folder, file), join(tree, file)];
    if (existsSync(own) && readFileSync(own, 'utf8').trim() === '')
      execFileSync('sh', ['-c', `cat ${parent} > ${own}`]);
  }
}

export function removeCgroup(name: string): void {
  for (const tree of trees()) removeTree(join(tree, name));
}

function removeTree(folder: string): void {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeTree(join(folder, entry.name));
  try {
    rmdirSync(folder);
  } catch {
    // A process may still be exiting. An empty leftover group is harmless.
  }
}

/** All processes of a cgroup and of its children. */
export function processesIn(cgroup: string): number[] {
  const tree = trees().find((one) => existsSync(join(one, cgroup, 'cgroup.procs')));
  return tree === undefined ? [] : pidsBelow(join(tree, cgroup));
}

function pidsBelow(folder: string): number[] {
  const own = readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
  const below = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [...own, ...below.flatMap(({ name }) => pidsBelow(join(folder, name)))];
}

/** Milliseconds of processor time of each pod in a cgroup of a kubelet, by the pod's uid. */
export function readPodTimes(cgroup: string): Map<string, number> {
  const tree = trees().find((one) => readUsage(join(one, cgroup)) !== null);
  const times = new Map<string, number>();
  const read = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (!entry.isDirectory()) continue;
      const below = join(folder, entry.name);
      const uid = /^pod([0-9a-f-]{36})$/.exec(entry.name)?.[1];
      if (uid === undefined) read(below);
      else times.set(uid, readUsage(below)!);
    }
  };
  if (tree !== undefined) read(join(tree, cgroup));
  return times;
}

/** Milliseconds of processor time of a cgroup; null if its tree does not count them. */
function readUsage(folder: string): number | null {
  const [v2, v1] = [join(folder, 'cpu.stat'), join(folder, 'cpuacct.usage')];
  if (existsSync(v1)) return Number(readFileSync(v1, 'utf8')) / 1e6;
  const used = existsSync(v2) ? /^usage_usec (\d+)$/m.exec(readFileSync(v2, 'utf8')) : null;
  return used && Number(used[1]) / 1e3;
}

/** Processes whose command line contains this folder, because shims of containers outlive containerd. */
export function processesNaming(folder: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 1 && pid !== process.pid && commandLine(pid).includes(`${folder}/`));
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

export function endAll(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has exited.
    }
  }
}

/** Mounts below a folder, deepest first. */
export function unmountBelow(folder: string): void {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((path) => path.startsWith(`${folder}/`));
  for (const path of mounts.sort((a, b) => b.length - a.length)) spawnSync('umount', ['-l', path]);
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
