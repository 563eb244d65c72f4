import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Person } from '@gwk/network/control/client';
import { baseEnvironment } from '../../support/program.js';
import type { NetworkProcess } from '../engine/network.js';
import type { BareFact, BareOptions } from './bare-program.js';
import type { Subject } from './subject.js';

const PROGRAM = fileURLToPath(new URL('./bare-program.js', import.meta.url));
const phoneOf = (index: number): string => `55119${String(20_000_000 + index)}`;

/** Bare Baileys, one process per phone number. */
export class BareInstances implements Subject {
  readonly name = 'bare Baileys';
  readonly kind = 'one process per phone number';
  readonly #children: ChildProcess[] = [];

  constructor(readonly network: NetworkProcess) {}

  async grow(count: number): Promise<void> {
    while (this.#children.length < count) await this.#link(this.#children.length);
  }

  phones(): string[] {
    return this.#children.map((_, index) => phoneOf(index));
  }

  pids(): number[] {
    return this.#children.map(({ pid }) => pid!);
  }

  async stop(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    }
  }

  async #link(index: number): Promise<void> {
    const { url, root } = this.network.whereabouts;
    const phone = await this.network.client.phone(phoneOf(index), { name: `Bare ${index}` });
    const options: BareOptions = { url, root };
    const child = fork(PROGRAM, [JSON.stringify(options)], {
      env: { ...baseEnvironment(), NODE_ENV: 'production' },
    });
    this.#children.push(child);
    await connected(child, phone);
  }
}

function connected(child: ChildProcess, phone: Person): Promise<void> {
  return new Promise((resolve, reject) => {
    let scanned = false;
    child.once('exit', (code) => reject(new Error(`bare Baileys exited (${code})`)));
    child.on('message', (fact: BareFact) => {
      if ('connected' in fact) return resolve();
      if (scanned) return;
      scanned = true;
      phone.scan(fact.qr).catch(reject);
    });
  });
}
