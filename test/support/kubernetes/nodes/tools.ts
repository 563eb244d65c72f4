import { unpackDebianPackages } from '../../debian-package.js';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/**
 * Programs that kubelet, containerd and kube-proxy call: those of the machine, otherwise from Debian packages that are
 * unpacked into the user's cache and never installed.
 */
const PACKAGES = ['runc', 'containernetworking-plugins', 'iptables', 'conntrack', 'iproute2'];
const PROGRAMS = ['runc', 'iptables', 'conntrack', 'ip'];
const CNI = 'usr/lib/cni';
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gwk/node-tools');

export interface NodeTools {
  /** Folder of the CNI plugins. */
  cni: string;
}

let found: NodeTools | undefined;

/**
 * Finds the tools and adds them to PATH of this process and its children.
 * @returns the reason if they are not available
 */
export function nodeTools(): NodeTools | string {
  found ??= installed() ?? unpacked();
  if (!found && unpackDebianPackages(PACKAGES, CACHE)) {
    nameIptables(join(CACHE, 'root/usr/sbin'));
    found = unpacked();
  }
  return found ?? `missing and not available from the package manager: apt-get install ${PACKAGES.join(' ')}`;
}

function installed(): NodeTools | undefined {
  const all = PROGRAMS.every((program) => spawnSync('which', [program]).status === 0);
  return all && existsSync(join('/', CNI, 'bridge')) ? { cni: join('/', CNI) } : undefined;
}

/** Unpacked programs and libraries have their own folders, which all child processes must know. */
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

/** Programs of the machine come first. The unpacked ones fill gaps. */
function lead(variable: string, folders: string[]): void {
  const before = process.env[variable];
  process.env[variable] = [...(before ? [before] : []), ...folders].join(delimiter);
}

/** Debian's package has two variants of iptables; its installation would create the plain names. */
function nameIptables(folder: string): void {
  const names = ['', '-save', '-restore'].flatMap((deed) => [`iptables${deed}`, `ip6tables${deed}`]);
  for (const name of names) {
    if (!existsSync(join(folder, name))) symlinkSync('xtables-nft-multi', join(folder, name));
  }
}
