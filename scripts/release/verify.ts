import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './tools.ts';

/** The commands of docs/verify.md by heading. The block before the first heading names the release. */
export function readCommands(page: string): { settings: string; sections: Map<string, string[]> } {
  const [head = '', ...rest] = page.split(/^## /m);
  const blocks = (text: string): string[] =>
    [...text.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, code]) => code!);
  const sections = rest.map((text): [string, string[]] => [text.slice(0, text.indexOf('\n')), blocks(text)]);
  return { settings: blocks(head).join(''), sections: new Map(sections.filter(([, all]) => all.length > 0)) };
}

export const PAGE = readFileSync(join(ROOT, 'docs/verify.md'), 'utf8');
const { sections } = readCommands(PAGE);
/** Heading of the commands that continue those of the section Chart in the same shell. */
const INSTALL = 'Install';
export const SECTIONS = [...sections.keys()].filter((name) => name !== INSTALL);
/** The commands that verify the chart and install it. */
export const INSTALLATION = ['Chart', INSTALL].flatMap((name) => sections.get(name)!).join('');

export interface Verified {
  ok: boolean;
  output: string;
}

/** Runs the commands of a section. @param part text of the blocks to run; default: all */
export const verify = (section: string, settings: string, folder: string, part = ''): Verified =>
  runLikeStranger(
    [settings, ...sections.get(section)!.filter((block) => block.includes(part))].join('\n'),
    folder,
  );

/**
 * Runs commands without the credentials of this machine, like somebody without an account.
 * @returns the output, or the errors of the command that refused
 */
export function runLikeStranger(script: string, folder: string): Verified {
  const home = mkdtempSync(join(tmpdir(), 'gwk-stranger-'));
  const env = {
    ...process.env,
    DOCKER_CONFIG: home,
    HELM_REGISTRY_CONFIG: join(home, 'config.json'),
    REGISTRY_AUTH_FILE: join(home, 'config.json'),
  };
  const done = spawnSync('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, encoding: 'utf8', env });
  rmSync(home, { recursive: true });
  return { ok: done.status === 0, output: done.status === 0 ? done.stdout : done.stderr };
}
