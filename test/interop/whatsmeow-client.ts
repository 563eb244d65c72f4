import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { MEDIA_CERTIFICATE } from '@gwk/network/media/certificate';
import type { RunningNetwork } from '@gwk/network/start';
import { until } from '@gwk/network/testing/stock-client';
import { buildOnce, goVersion, type GoModule } from '../support/kubernetes/go-modules.js';
import { ROOT } from '../support/program.js';

const CLIENT: GoModule = {
  name: 'whatsmeow',
  place: 'whatsmeow',
  sources: join(ROOT, 'test/network/whatsmeow'),
  files: ['main.go', 'log.go', 'store.go'],
  version: 'a test client',
  builds: [{ args: ['-buildvcs=false'], output: 'client', packages: ['.'] }],
};

export const hasGo = goVersion() !== null;

/** @returns the path of the program, which is built once into the cache of the user */
export async function buildGoClient(): Promise<string> {
  const folder = await buildOnce(CLIENT, (line) => process.stderr.write(`${line}\n`));
  return join(folder, 'client');
}

export type Fact = Record<string, unknown> & { event: string };

/** A whatsmeow client in its own process. */
export class GoClient {
  readonly facts: Fact[] = [];
  readonly complaints: string[] = [];
  readonly #child: ChildProcess;

  constructor(program: string, network: RunningNetwork) {
    this.#child = spawn(program, { stdio: ['pipe', 'pipe', 'pipe'] });
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

  /** @returns the first fact that matches, once it exists; removes it from the list */
  async says(event: string, fits: (fact: Fact) => boolean = () => true): Promise<Fact> {
    const found = () => this.facts.findIndex((fact) => fact.event === event && fits(fact));
    const what = () => `${event}; received ${JSON.stringify(this.facts)} and ${this.complaints.join('\n')}`;
    const ended = () => this.#child.exitCode !== null || this.#child.signalCode !== null;
    await until(() => found() >= 0 || ended() || undefined, event).catch(() => {
      throw new Error(`timeout waiting for ${what()}`);
    });
    if (found() < 0) throw new Error(`the client ended without ${what()}`);
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
