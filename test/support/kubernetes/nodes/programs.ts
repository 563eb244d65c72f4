import { join } from 'node:path';
import { ensureBinaries } from '../binaries.js';
import { buildOnce, goVersion, TEST_PROGRAMS, type GoModule } from '../go-modules.js';
import { forbiddenHere } from './allowed.js';
import { nodeTools } from './tools.js';

/** Programs that nodes need beside Kubernetes: containerd and a DNS server, built from Go modules. */
const CONTAINERD: GoModule = {
  name: 'containerd',
  place: 'containerd',
  // Its own module: it needs a newer interface of the container runtime than this kubelet.
  sources: join(TEST_PROGRAMS, 'containerd'),
  files: ['pause/main.go'],
  version: 'v2.4.2',
  builds: [
    {
      args: ['-ldflags=-s -w', '-tags=no_btrfs no_devmapper no_zfs no_aufs'],
      output: '',
      packages: [
        'github.com/containerd/containerd/v2/cmd/containerd',
        'github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2',
        'github.com/containerd/containerd/v2/cmd/ctr',
        './pause',
      ],
    },
  ],
};

const DNS: GoModule = {
  name: 'coredns',
  place: 'coredns',
  sources: TEST_PROGRAMS,
  files: ['coredns/main.go'],
  version: 'v1.15.0',
  builds: [{ args: ['-ldflags=-s -w'], output: 'coredns', packages: ['./coredns'] }],
};

export interface NodePrograms {
  kubernetes: string;
  containerd: string;
  dns: string;
  /** Folder of the CNI plugins. */
  cni: string;
}

/** Reason why pods cannot run on this machine; null if they can once everything is built. */
export function whyNoNodes(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'a kubelet needs root on Linux';
  if (process.env['KUBEBUILDER_ASSETS']) return 'KUBEBUILDER_ASSETS holds no kubelet: unset it';
  if (goVersion() === null) return 'Go is not installed: install Go 1.26';
  const tools = nodeTools();
  return typeof tools === 'string' ? tools : forbiddenHere();
}

/** @throws Error if they are not available */
export async function ensureNodePrograms(say: (line: string) => void): Promise<NodePrograms> {
  const why = whyNoNodes();
  if (why !== null) throw new Error(why);
  const tools = nodeTools();
  if (typeof tools === 'string') throw new Error(tools);
  const found = await ensureBinaries(say);
  if ('missing' in found) throw new Error(found.missing);
  return {
    kubernetes: found.binaries.folder,
    containerd: await buildOnce(CONTAINERD, say),
    dns: await buildOnce(DNS, say),
    cni: tools.cni,
  };
}
