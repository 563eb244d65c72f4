import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DeliveryWorld } from '../support/api/deliveries.js';
import { pickPort } from '../support/ports.js';
import { baseEnvironment, GWK, Program, type Environment } from '../support/program.js';

/** `gwk worker` in its own process on a DeliveryWorld. It is not restarted when it exits. */
export class WorkerProcesses {
  readonly #world: DeliveryWorld;
  readonly #folder = mkdtempSync(join(tmpdir(), 'gwk-worker-'));
  readonly #programs: Program[] = [];

  constructor(world: DeliveryWorld) {
    this.#world = world;
  }

  /** The worker that was started last. */
  get last(): Program {
    return this.#programs.at(-1)!;
  }

  async start(settings: Environment = {}): Promise<WorkerProcess> {
    const port = await pickPort();
    const get = (path: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(5_000) });
    const program = new Program({
      name: 'worker',
      args: [GWK, 'worker'],
      env: {
        ...baseEnvironment(),
        ...this.#world.environment,
        GWK_WORKER_PORT: String(port),
        ...settings,
      },
      logFile: join(this.#folder, `worker-${port}.log`),
      ready: async () => (await get('/readyz')).ok,
      supervised: false,
    });
    this.#programs.push(program);
    await program.start();
    return { program, get };
  }

  /** Stops the running workers. */
  async stop(): Promise<void> {
    await Promise.all(this.#programs.splice(0).map((program) => program.stop()));
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true });
  }
}

export interface WorkerProcess {
  program: Program;
  get: (path: string) => Promise<Response>;
}
