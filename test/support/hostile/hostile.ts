import { Helper } from '../helper.js';

/**
 * Never answers; answers byte by byte; answers with a gigabyte; closes the connection at once; answers just before the
 * timeout.
 */
export const HOSTILE_KINDS = ['silent', 'trickling', 'endless', 'closing', 'late'] as const;
export type HostileKind = (typeof HOSTILE_KINDS)[number];

/** Hostile webhook receivers in a separate process. */
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

  /** Number of calls by kind, and bytes sent to callers. */
  calls(): Promise<{ calls: Partial<Record<HostileKind, number>>; bytesSent: number }> {
    return this.#helper.control('calls');
  }

  async stop(): Promise<void> {
    await this.#helper.stop();
  }
}
