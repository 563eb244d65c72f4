import { spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { goVersion } from '../kubernetes/go-modules.js';
import type { KubeObject } from '../kubernetes/test-cluster.js';

/**
 * CRDs of the non-Kubernetes kinds that the chart can create, from the Go modules of their publishers. Nothing is built
 * from the modules. The sum covers the whole module.
 */
interface Source {
  module: string;
  version: string;
  sum: string;
  files: string[];
}

const SOURCES: Source[] = [
  {
    module: 'sigs.k8s.io/gateway-api',
    version: 'v1.4.1',
    sum: 'h1:NPxFutNkKNa8UfLd2CMlEuhIPMQgDQ6DXNKG9sHbJU8=',
    files: ['config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
  },
  {
    module: 'github.com/cert-manager/cert-manager',
    version: 'v1.19.2',
    sum: 'h1:jSprN1h5pgNDSl7HClAmIzXuTxic/5FXJ32kbQHqjlM=',
    files: ['deploy/crds/cert-manager.io_certificates.yaml'],
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator',
    version: 'v0.85.0',
    sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
    files: ['podmonitors', 'prometheusrules', 'servicemonitors'].map(
      (plural) => `example/prometheus-operator-crd/monitoring.coreos.com_${plural}.yaml`,
    ),
  },
  {
    module: 'github.com/kedacore/keda/v2',
    version: 'v2.18.3',
    sum: 'h1:PY3o80tzBAzCffS8J6eBZctT4B+g/r26zErNSMleC50=',
    files: ['config/crd/bases/keda.sh_scaledobjects.yaml'],
  },
];

export type FoundDefinitions = { folder: string } | { missing: string; canBuild: boolean };

export function findDefinitions(): FoundDefinitions {
  const folder = cached();
  if (existsSync(folder)) return { folder };
  if (goVersion() === null)
    return {
      missing: 'Go is not installed; it downloads the CRDs of third-party kinds',
      canBuild: false,
    };
  return {
    missing: 'the CRDs of third-party kinds are missing: run make kubernetes',
    canBuild: true,
  };
}

/** Downloads missing definitions if possible. */
export function ensureDefinitions(say: (line: string) => void): FoundDefinitions {
  const found = findDefinitions();
  if ('folder' in found || !found.canBuild) return found;
  say('CRDs of third-party kinds: downloading Go modules, once');
  const folder = cached();
  const half = `${folder}.${randomUUID()}`;
  mkdirSync(half, { recursive: true });
  try {
    for (const source of SOURCES) copyFrom(download(source, half), source.files, half);
    if (!existsSync(folder)) renameSync(half, folder);
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
  return { folder };
}

export function readDefinitions(): KubeObject[] {
  const found = findDefinitions();
  if ('missing' in found) throw new Error(found.missing);
  return readdirSync(found.folder).map(
    (file) => parse(readFileSync(join(found.folder, file), 'utf8')) as KubeObject,
  );
}

/** Cache folder, named by a hash of the sources, so that other versions use another folder. */
function cached(): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const hash = createHash('sha256').update(JSON.stringify(SOURCES)).digest('hex');
  return join(cache, 'gwk', 'definitions', hash.slice(0, 16));
}

/** @param at folder outside of any Go module, whose requirements Go would also read */
function download({ module, version, sum }: Source, at: string): string {
  const done = spawnSync('go', ['mod', 'download', '-json', `${module}@${version}`], {
    cwd: at,
    encoding: 'utf8',
    env: { ...process.env, GO111MODULE: 'on', GOWORK: 'off', GOFLAGS: '' },
  });
  const { Dir, Sum, Error: why } = JSON.parse(done.stdout || '{}') as Record<string, string | undefined>;
  if (Dir === undefined) throw new Error(`${module}@${version}: ${why ?? done.stderr}`);
  if (Sum !== sum) throw new Error(`${module}@${version} has the sum ${Sum}, expected ${sum}`);
  return Dir;
}

function copyFrom(module: string, files: string[], folder: string): void {
  for (const file of files) copyFileSync(join(module, file), join(folder, basename(file)));
}
