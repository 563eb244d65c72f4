import { unpackDebianPackages } from '@gwk/local/servers/debian-package';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/**
 * What kubelet, containerd and kube-proxy call on their node: the machine's own programs, else those of Debian's
 * packages, unpacked once into the user's cache and never installed.
 */
const PACKAGES = ['runc', 'containernetworking-plugins', 'iptables', 'conntrack', 'iproute2'];
const PROGRAMS = ['runc', 'iptables', 'conntrack', 'ip'];
const CNI = 'usr/lib/cni';
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gwk/node-tools');

export interface NodeTools {
  /** The folder of the plugins that join pods to the network. */
  cni: string;
}

let found: NodeTools | undefined;

/**
 * From then on PATH of this process, and of what it starts, leads to them.
 * @returns why not, where they are not to be had
 */
export function nodeTools(): NodeTools | string {
  found ??= installed() ?? unpacked();
  if (!found && unpackDebianPackages(PACKAGES, CACHE)) {
    nameIptables(join(CACHE, 'root/usr/sbin'));
    found = unpacked();
  }
  return found ?? `missing and not to be had from the package manager: apt-get install ${PACKAGES.join(' ')}`;
}

function installed(): NodeTools | undefined {
  const all = PROGRAMS.every((program) => spawnSync('which', [program]).status === 0);
  return all && existsSync(join('/', CNI, 'bridge')) ? { cni: join('/', CNI) } : undefined;
}

/** Programs and their libraries lie in folders of their own, which everything started from here has to know. */
function unpacked(): NodeTools | undefined {
  const root = join(CACHE, 'root');
  const cni = join(root, CNI);
  if (!existsSync(join(root, 'usr/sbin/iptables')) || !existsSync(join(cni, 'bridge'))) return undefined;
  const libraries = ['usr/lib', 'lib'].flatMap((folder) => multiarch(join(root, folder)));
  lead(
    'PATH',
    ['usr/sbin', 'usr/bin', 'sbin', 'bin'].map((folder) => join(root, folder)),
  );
  lead('LD_LIBRARY_PATH', libraries);
  const extensions = libraries
    .map((folder) => join(folder, 'xtables'))
    .filter((folder) => existsSync(folder));
  if (extensions[0]) process.env['XTABLES_LIBDIR'] = extensions[0];
  return { cni };
}

function multiarch(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.includes('-linux-'))
    .map((name) => join(folder, name));
}

/** The machine's own come first: what is unpacked is for what it lacks. */
function lead(variable: string, folders: string[]): void {
  const before = process.env[variable];
  process.env[variable] = [...(before ? [before] : []), ...folders].join(delimiter);
}

/** Debian's package leaves the choice between two programs, and the plain names with it, to its installation. */
function nameIptables(folder: string): void {
  const names = ['', '-save', '-restore'].flatMap((deed) => [`iptables${deed}`, `ip6tables${deed}`]);
  for (const name of names) {
    if (!existsSync(join(folder, name))) symlinkSync('xtables-nft-multi', join(folder, name));
  }
}
