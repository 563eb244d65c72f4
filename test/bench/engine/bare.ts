import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { baseEnvironment } from '../../support/program.js';
import { residentMemory } from '../../support/processes.js';
import type { BareOptions, BareOrder } from './bare-program.js';
import type { NetworkProcess } from './network.js';

const PROGRAM = fileURLToPath(new URL('./bare-program.js', import.meta.url));
const NUMBER = '5511900000003';

/** Bare Baileys in a separate process, linked with its own phone on the same network. */
export class Bare {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start({ whereabouts: { url, root, control } }: NetworkProcess): Promise<Bare> {
    const options: BareOptions = { url, root, control, number: NUMBER };
    const bare = new Bare(fork(PROGRAM, [JSON.stringify(options)], { env: baseEnvironment() }));
    await bare.#answer();
    return bare;
  }

  get rss(): number {
    return residentMemory(this.#child.pid!);
  }

  /** @returns acknowledged messages per second */
  async send(order: BareOrder): Promise<number> {
    this.#child.send(order);
    return (await this.#answer<{ perSecond: number }>()).perSecond;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }

  async #answer<T>(): Promise<T> {
    const ended = once(this.#child, 'exit').then(() => [{ error: 'it has exited' }]);
    const [answer] = (await Promise.race([once(this.#child, 'message'), ended])) as [T & { error?: string }];
    if (answer.error !== undefined) throw new Error(`bare Baileys: ${answer.error}`);
    return answer;
  }
}
