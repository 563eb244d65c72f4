import { engineSettings } from '@gwk/core/config/engine';
import { loadConfig } from '@gwk/core/config/load';
import { createLogger } from '@gwk/core/process/log';
import { EngineClient } from '@gwk/core/protocol/internal-client';
import { Engine } from '@gwk/engine-pod/engine';
import { acquireLease } from '@gwk/engine-pod/internal-api/lease';
import type { EngineSettings } from './engine-process.js';

/** An engine in the test's own process: complete except for signals, memory and the probe listener. */
export class EngineInProcess {
  readonly #stopping = new AbortController();
  readonly #client: EngineClient;
  readonly #started: Promise<Engine | null>;
  #lost!: (exitCode: number) => void;
  /** Resolves to the exit code that the engine would use. */
  readonly exited = new Promise<number>((resolve) => (this.#lost = resolve));
  #log = '';

  constructor(settings: EngineSettings) {
    this.#client = new EngineClient({
      baseUrl: settings.internalUrl,
      token: 'a-token',
      ca: undefined,
      timeoutMs: 120_000,
    });
    this.#started = this.#start(settings).catch((error: unknown) => {
      if (this.#stopping.signal.aborted) return null;
      throw error;
    });
  }

  async #start({ internalUrl, networkUrl, ackTimeoutMs = 20_000, idleClaimMs = 5_000 }: EngineSettings) {
    const config = loadConfig(engineSettings, {
      GWK_ENGINE_INTERNAL_URL: internalUrl,
      GWK_ENGINE_TOKEN: 'a-token',
      GWK_ENGINE_POD: 'pod-1',
      GWK_ENGINE_SANDBOX_NETWORK: networkUrl,
    });
    const log = createLogger('engine', 'info', { write: (line) => void (this.#log += line) });
    const context = { log, signal: this.#stopping.signal };
    const given = await acquireLease(this.#client, { pod: 'pod-1', version: '0.0.0' }, context);
    const engine = new Engine({
      ...given,
      client: this.#client,
      // Tests also use times that no setting allows.
      config: { ...config, ackTimeoutMs, idleClaimMs },
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
