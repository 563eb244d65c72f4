import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './tools.ts';

/** The commands of docs/verify.md by heading. The block before the first heading names the release. */
export function readCommands(page: string): { settings: string; sections: Map<string, string> } {
  const [head = '', ...rest] = page.split(/^## /m);
  const blocks = (text: string): string =>
    [...text.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, code]) => code).join('');
  const sections = rest.map((text): [string, string] => [text.slice(0, text.indexOf('\n')), blocks(text)]);
  return { settings: blocks(head), sections: new Map(sections.filter(([, code]) => code !== '')) };
}

const PAGE = readFileSync(join(ROOT, 'docs/verify.md'), 'utf8');
export const { settings: SETTINGS, sections: SECTIONS } = readCommands(PAGE);

/**
 * Runs the commands of a section without the credentials of this machine, like somebody without an account.
 * @returns the output, or the errors of the command that refused
 */
export function verify(section: string, settings: string, folder: string): { ok: boolean; output: string } {
  const script = `${settings}\n${SECTIONS.get(section)}`;
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
