import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from './program.js';

/** A chart and its images in a registry of this machine. */
export interface Edition {
  version: string;
  /** Address of the chart, with its digest. */
  chart: string;
  /** Digests of the images by program. */
  images: Record<string, string>;
  /** Why this is not the former commit, although it replaces it. */
  why?: string;
}

/** Where a rehearsal publishes. */
export interface Place {
  host: string;
  /** Folder of the registry. */
  blobs: string;
  /** Folder for keys, files and editions. */
  work: string;
}

export const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  version: string;
};

export type Step = 'former' | 'unsigned' | 'release' | 'install' | 'refuse';

/**
 * Runs a step of scripts/release/rehearse.ts in a process of its own: the step blocks, and this process may run servers.
 * @param say takes the lines that it prints
 */
export async function rehearse(
  step: Step,
  place: Place,
  say: (line: string) => void,
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  const loader = join(ROOT, 'test/support/typescript.js');
  const script = join(ROOT, 'scripts/release/rehearse.ts');
  const child = spawn(process.execPath, ['--import', loader, script, step, JSON.stringify(place)], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  createInterface({ input: child.stdout }).on('line', say);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`${errors}\nthe step ${step} of the release ended with ${code}`);
}

/** The edition that a step has published. */
export const readEdition = ({ work }: Place, step: Step): Edition =>
  JSON.parse(readFileSync(join(work, `${step}.json`), 'utf8')) as Edition;
