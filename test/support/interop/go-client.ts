import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from '../program.js';
import { MEDIA_CERTIFICATE } from '@gwk/network/media/certificate';
import type { RunningNetwork } from '@gwk/network/start';
import { until } from '@gwk/network/testing/stock-client';

const WORKSPACE = join(ROOT, 'test/network');
const SOURCE = join(WORKSPACE, 'whatsmeow');
const PROGRAM = join(WORKSPACE, 'dist', 'whatsmeow-client');

export const hasGo = spawnSync('go', ['version']).status === 0;

/** Builds the client. The first time takes a minute or two: its modules are fetched and compiled. */
export function buildGoClient(): void {
  mkdirSync(join(WORKSPACE, 'dist'), { recursive: true });
  const env = { ...process.env, GOTOOLCHAIN: 'local', CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false' };
  const done = spawnSync('go', ['build', '-trimpath', '-o', PROGRAM, '.'], {
    cwd: SOURCE,
    env,
    encoding: 'utf8',
  });
  if (done.status !== 0) throw new Error(`the client on whatsmeow cannot be built:\n${done.stderr}`);
}

export type Fact = Record<string, unknown> & { event: string };

/** A client on whatsmeow, in a process of its own. */
export class GoClient {
  readonly facts: Fact[] = [];
  readonly complaints: string[] = [];
  readonly #child: ChildProcess;

  constructor(network: RunningNetwork) {
    this.#child = spawn(PROGRAM, { stdio: ['pipe', 'pipe', 'pipe'] });
    const { stdout, stderr } = this.#child;
    if (stdout) createInterface(stdout).on('line', (line) => this.facts.push(JSON.parse(line) as Fact));
    if (stderr) createInterface(stderr).on('line', (line) => this.complaints.push(line));
    this.#write({
      address: new URL(network.url).host,
      root: network.root.toString('hex'),
      ca: MEDIA_CERTIFICATE.cert,
      verbose: process.env.VERBOSE === 'on',
    });
  }

  order(order: Record<string, string>): void {
    this.#write(order);
  }

  /** @returns the first fact that fits, once it is there; it is taken off the list */
  async says(event: string, fits: (fact: Fact) => boolean = () => true): Promise<Fact> {
    const found = () => this.facts.findIndex((fact) => fact.event === event && fits(fact));
    const what = () => `${event}; it said ${JSON.stringify(this.facts)} and ${this.complaints.join('\n')}`;
    await until(() => (found() < 0 ? undefined : true), event, 12_000).catch(() => {
      throw new Error(`waited in vain for ${what()}`);
    });
    const [fact] = this.facts.splice(found(), 1);
    return fact as Fact;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.stdin?.end();
    await ended;
  }

  #write(line: unknown): void {
    this.#child.stdin?.write(`${JSON.stringify(line)}\n`);
  }
}
