import { createLogger } from '@gwk/core/log';
import { EngineClient } from '@gwk/core/protocol/internal-client';
import { Engine } from '@gwk/engine-pod/engine';
import { acquireLease } from '@gwk/engine-pod/internal-api/lease';
import type { EngineSettings } from './engine-process.js';

const NO_NETWORK = { url: undefined, root: undefined, ca: undefined };

/** An engine in the test's own process: complete except for signals, memory and the probe listener. */
export class EngineInProcess {
  readonly #stopping = new AbortController();
  readonly #client: EngineClient;
  readonly #started: Promise<Engine | null>;
  #lost!: (exitCode: number) => void;
  /** Resolves to the exit code that the engine would use. */
  readonly exited = new Promise<number>((resolve) => (this.#lost = resolve));
  #log = '';

  constructor({ internalUrl, networkUrl, ackTimeoutMs = 20_000, idleClaimMs = 5_000 }: EngineSettings) {
    this.#client = new EngineClient({
      baseUrl: internalUrl,
      token: 'a-token',
      ca: undefined,
      timeoutMs: 120_000,
    });
    this.#started = this.#start({ networkUrl, ackTimeoutMs, idleClaimMs }).catch((error: unknown) => {
      if (this.#stopping.signal.aborted) return null;
      throw error;
    });
  }

  async #start(settings: Pick<EngineSettings, 'networkUrl'> & { ackTimeoutMs: number; idleClaimMs: number }) {
    const { networkUrl, ackTimeoutMs, idleClaimMs } = settings;
    const log = createLogger('engine', 'info', { write: (line) => void (this.#log += line) });
    const context = { log, signal: this.#stopping.signal };
    const given = await acquireLease(this.#client, { pod: 'pod-1', version: '0.0.0' }, context);
    const engine = new Engine({
      ...given,
      client: this.#client,
      pod: 'pod-1',
      ackTimeoutMs,
      idleClaimMs,
      nameInMetrics: true,
      networks: { sandbox: networkUrl, web: NO_NETWORK },
      log,
      lost: (exitCode) => this.#lost(exitCode),
    });
    engine.start();
    return engine;
  }

  get log(): string {
    return this.#log;
  }

  /** Stops gracefully, as on a signal. */
  async kill(): Promise<void> {
    this.#stopping.abort();
    await (await this.#started)?.stop();
    this.#client.close();
  }
}
