import { Helper } from '../helper.js';

/**
 * Never answers; answers byte by byte; answers with a gigabyte; closes the connection at once; answers just before
 * the time-out.
 */
export const HOSTILE_KINDS = ['silent', 'trickling', 'endless', 'closing', 'late'] as const;
export type HostileKind = (typeof HOSTILE_KINDS)[number];

/** Hostile webhook destinations, in a process apart. */
export class Hostile {
  readonly #helper: Helper;

  private constructor(helper: Helper) {
    this.#helper = helper;
  }

  static async start(): Promise<Hostile> {
    return new Hostile(await Helper.start('hostile/hostile-program'));
  }

  url(kind: HostileKind): string {
    return `${this.#helper.url}/${kind}`;
  }

  /** How often each was called, and how much was written to whoever listens. */
  calls(): Promise<{ calls: Partial<Record<HostileKind, number>>; bytesSent: number }> {
    return this.#helper.control('calls');
  }

  async stop(): Promise<void> {
    await this.#helper.stop();
  }
}
