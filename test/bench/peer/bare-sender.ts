import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { baseEnvironment } from '../../support/program.js';
import type { NetworkProcess } from '../engine/network.js';
import type { BareAnswer, BareOptions, BareText } from './bare-program.js';
import type { Sender } from './sender.js';

const PROGRAM = fileURLToPath(new URL('./bare-program.js', import.meta.url));

/** Bare Baileys in a process of its own, called over a pipe. Its keys are in memory, so it does not survive a kill. */
export class BareSender implements Sender {
  readonly name = 'bare Baileys';
  readonly phone = '5511950000001';
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (accepted: boolean) => void>();
  #place = 0;

  private constructor({ whereabouts: { url, root, control } }: NetworkProcess) {
    const options: BareOptions = { url, root, control, number: this.phone };
    const env = { ...baseEnvironment(), NODE_ENV: 'production' };
    this.#child = fork(PROGRAM, [JSON.stringify(options)], { env });
  }

  static async start(network: NetworkProcess): Promise<BareSender> {
    const sender = new BareSender(network);
    const exited = once(sender.#child, 'exit').then(() =>
      Promise.reject(new Error('bare Baileys has exited')),
    );
    await Promise.race([once(sender.#child, 'message'), exited]);
    sender.#child.on('message', (answer: BareAnswer) => {
      if (!('place' in answer)) return;
      sender.#waiting.get(answer.place)?.(answer.accepted);
      sender.#waiting.delete(answer.place);
    });
    exited.catch(() => undefined);
    return sender;
  }

  send(to: string, text: string): Promise<boolean> {
    const order: BareText = { place: ++this.#place, to, text };
    return new Promise((resolve) => {
      this.#waiting.set(order.place, resolve);
      this.#child.send(order);
    });
  }

  processes(): Record<string, number | undefined> {
    return { process: this.#child.pid };
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }
}
