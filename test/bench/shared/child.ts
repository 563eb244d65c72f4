import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { baseEnvironment } from '../../support/program.js';

/** A benchmark program in a separate process. It handles one request at a time over its IPC channel. */
export class Child {
  readonly #child: ChildProcess;

  private constructor(file: URL, args: string[], nodeArguments: string[]) {
    const env = { ...baseEnvironment(), NODE_ENV: 'production' };
    this.#child = fork(file, args, { env, execArgv: nodeArguments });
  }

  /** @returns the process and its first message */
  static async start<T>(file: URL, options: unknown = {}, nodeArguments: string[] = []): Promise<[Child, T]> {
    const child = new Child(file, [JSON.stringify(options)], nodeArguments);
    return [child, await child.#answer<T>()];
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** @throws Error if the process returns an error or exits */
  ask<T>(what: unknown): Promise<T> {
    const answer = this.#answer<T>();
    this.#child.send(what as object);
    return answer;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }

  #answer<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error('a benchmark process has exited'));
      this.#child.once('exit', onExit);
      this.#child.once('message', (answer: T & { error?: string }) => {
        this.#child.off('exit', onExit);
        if (answer.error === undefined) resolve(answer);
        else reject(new Error(answer.error));
      });
    });
  }
}
