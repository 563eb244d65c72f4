import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../program.js';
import { readerEnvironment, readPageBlocks } from '../readme.js';
import { until } from '../wait.js';

interface Tutorial {
  language: 'ts' | 'python';
  /** Name of the program on the page. */
  file: string;
  /** Empty folder of the reader. */
  folder: string;
  access: { base_url: string; api_key: string };
  env?: Environment;
}

/**
 * Types the blocks of docs/tutorials/node.md, with the program of the page of the language, and writes to the number.
 *
 * @returns the id of the instance once the program has received the text
 */
export async function typeTutorial({ language, file, folder, access, env }: Tutorial): Promise<string> {
  const [page, node] = [`tutorials/${language === 'ts' ? 'node' : 'python'}.md`, 'tutorials/node.md'];
  const [program, ...others] = readPageBlocks(page, language);
  const [readAccess, runNode, write, ...more] = readPageBlocks(node, 'sh');
  const [run] = language === 'ts' ? [runNode] : readPageBlocks(page, 'sh');
  expect([...others, ...more]).toEqual([]);
  writeFileSync(join(folder, file), program!);
  mkdirSync(join(folder, '.local'));
  writeFileSync(join(folder, '.local/gwk.json'), JSON.stringify(access));
  const start = (block: string) => {
    const options = { cwd: folder, env: { ...readerEnvironment(), ...env }, detached: true };
    // With a socket as its input, bash would read .bashrc.
    const child = spawn('bash', ['--norc', '-ec', `${readAccess}\n${block}`], options);
    const started = { child, out: '', error: '', ended: once(child, 'close') };
    child.stdout.on('data', (chunk: Buffer) => (started.out += String(chunk)));
    child.stderr.on('data', (chunk: Buffer) => (started.error += String(chunk)));
    return started;
  };
  const bot = start(run!);
  const untilPrinted = (text: string) =>
    until(() => bot.out.includes(text), {
      what: `the program of ${page} prints ${text}`,
      giveUp: () => (bot.child.exitCode === null ? undefined : bot.out + bot.error),
    });
  try {
    await untilPrinted('Your message is read');
    const instance = /^INSTANCE_ID (ins_\w+)$/m.exec(bot.out)![1]!;
    const [code] = (await start(write!.replace('ins_...', instance)).ended) as [number];
    expect(code).toBe(0);
    await untilPrinted('Received Good morning');
    return instance;
  } finally {
    if (bot.child.exitCode === null) process.kill(-bot.child.pid!, 'SIGKILL');
    await bot.ended;
  }
}
